import type { Phrase } from "../api.gen";
import { pieces, type Piece, type Style } from "../format";

/** A phrase with its numbers written, stressed words bold and code in code type. Text nodes only. */
export function Sentence({ phrase, style = "prose" }: { phrase: Phrase; style?: Style }) {
  return <>{pieces(phrase, style).map((piece, at) => marked(piece, at))}</>;
}

function marked({ text, strong, code }: Piece, at: number) {
  const inner = code ? <code key={at}>{text}</code> : text;
  return strong ? <b key={at}>{inner}</b> : inner;
}
