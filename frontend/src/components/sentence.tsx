import type { Phrase } from "../api.gen";
import { hint } from "../dom/hint";
import { type Style, shortened } from "../format";
import { type Segment, segmentsOf } from "../phrase";

/** A phrase with its numbers written, stressed words bold and code in code type. Text nodes only. */
export function Sentence({ phrase, style = "prose" }: { phrase: Phrase; style?: Style }) {
  return <>{segmentsOf(phrase, style).map((segment, at) => marked(segment, at))}</>;
}

/** Words of a sentence are shorter; names of kernels are not, and no line would break in them. */
const LONG_WORD = 48;

function marked({ text, strong, code }: Segment, at: number) {
  const inner = code ? <code key={at}>{text}</code> : words(text);
  return strong ? <b key={at}>{inner}</b> : inner;
}

/** Long names are shortened in the middle; the whole of one is on hover. */
function words(text: string) {
  const parts = text.split(/(\S{49,})/);
  if (parts.length === 1) return text;
  return parts.map((part) =>
    part.length > LONG_WORD && !/\s/.test(part) ? <span {...hint(part)}>{shortened(part, LONG_WORD)}</span> : part,
  );
}
