import type { Phrase } from "../api.gen";
import { hint } from "../dom/hint";
import { type Style, shortened } from "../format";
import { type Segment, segmentsOf } from "../phrase";
import { Explained } from "./terms";

interface SentenceProps {
  phrase: Phrase;
  style?: Style;
  /** Whether its terms are explained: not within a button, and not in every row of a table. */
  terms?: boolean;
}

/** A phrase with its numbers written, stressed words bold and code in code type. Text nodes only. */
export function Sentence({ phrase, style = "prose", terms = false }: SentenceProps) {
  return <>{joined(segmentsOf(phrase, style)).map((segment, at) => marked(segment, at, terms))}</>;
}

/** Neighbours that are written alike as one: a term may begin in one of them and end in the next. */
const joined = (segments: readonly Segment[]): Segment[] =>
  segments.reduce<Segment[]>((found, next) => {
    const last = found[found.length - 1];
    if (!last || last.code || next.code || last.strong !== next.strong) found.push({ ...next });
    else last.text += next.text;
    return found;
  }, []);

/** Words of a sentence are shorter; names of kernels are not, and no line would break in them. */
const LONG_WORD = 48;

function marked({ text, strong, code }: Segment, at: number, terms: boolean) {
  const inner = code ? <code key={at}>{text}</code> : words(text, terms);
  return strong ? <b key={at}>{inner}</b> : inner;
}

/** Long names are shortened in the middle; the whole of one is on hover. */
function words(text: string, terms: boolean) {
  const parts = text.split(/(\S{49,})/);
  if (parts.length === 1) return terms ? <Explained text={text} /> : text;
  return parts.map((part) =>
    part.length > LONG_WORD && !/\s/.test(part) ? <span {...hint(part)}>{shortened(part, LONG_WORD)}</span> : part,
  );
}
