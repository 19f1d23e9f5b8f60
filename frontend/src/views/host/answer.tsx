import type { Answer } from "../../api.gen";
import { Sentence } from "../../components/sentence";
import { text } from "../../format";

/** Is the CPU the limit? In a sentence, with the numbers that it rests on. */
export function AnswerBox({ answer }: { answer: Answer }) {
  return (
    <section class="answer">
      <div class="head">
        <h2>Is the CPU the limit?</h2>
        <p>
          <Sentence phrase={answer.text} />
        </p>
      </div>
      <dl>
        {answer.figures.map(({ id, label, meaning, value }) => (
          <div key={id} title={meaning}>
            <dt>{label}</dt>
            <dd>{typeof value.value === "string" ? value.value : text(value.value, value.unit)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
