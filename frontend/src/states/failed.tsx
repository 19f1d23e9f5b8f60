import type { Problem } from "../api.gen";
import { CopyButton } from "../components/copy";

interface FailedProps {
  title: string;
  problem: Problem;
  /** What else the report holds: where the figures are from. */
  about: string;
  again(): void;
}

/** What went wrong, in which file, what to do. Other spans stay usable in the bar above. */
export function Failed({ title, problem, about, again }: FailedProps) {
  const report = () =>
    [title, problem.problem, problem.file, problem.hint, about].filter((line) => line !== "").join("\n");
  return (
    <>
      <h1 class="title">{title}</h1>
      <p class="quiet">
        {problem.problem}.
        {problem.file && (
          <>
            {" "}
            File: <code>{problem.file}</code>
          </>
        )}
      </p>
      <p class="quiet">{problem.hint}</p>
      <p class="deeds">
        <button class="button" onClick={again}>
          Try again
        </button>
        <CopyButton text={report}>Copy the report</CopyButton>
      </p>
    </>
  );
}
