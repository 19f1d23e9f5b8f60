/** Sentences of the server with their numbers written and their terms explained. */

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Phrase, Term } from "../api.gen";
import { hint } from "../dom/hint";
import { type Style, shortened } from "../format";
import { type Segment, segmentsOf } from "../phrase";

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

/** What the catalogue explains; none outside the tab. */
export const Terms = createContext<readonly Term[]>([]);

/** A text in pieces: those with a meaning are terms. Each term has one, at its first place. */
export function piecesOf(text: string, terms: readonly Term[]): { text: string; meaning?: string }[] {
  const words = terms.flatMap((term) => term.words);
  if (words.length === 0) return [{ text }];
  const pattern = new RegExp(`(?<![\\w-])(${words.map(escaped).join("|")})(?![\\w-])`, "i");
  const said = new Set<Term>();
  return text.split(pattern).map((piece, at) => {
    const term = at % 2 ? terms.find((each) => each.words.some((word) => same(word, piece))) : undefined;
    if (!term || said.has(term)) return { text: piece };
    said.add(term);
    return { text: piece, meaning: term.meaning };
  });
}

const escaped = (word: string): string => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const same = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

function Explained({ text }: { text: string }) {
  const pieces = piecesOf(text, useContext(Terms));
  return (
    <>
      {pieces.map((piece, at) =>
        piece.meaning ? (
          <span key={at} class="term" {...hint(piece.meaning)}>
            {piece.text}
          </span>
        ) : (
          piece.text
        ),
      )}
    </>
  );
}

/** What the words of a view mean, in a line each, to be read and not only hovered over. */
interface Meant {
  label: string;
  meaning: string;
}

/** The terms that stand in heads of columns and rows of a view, where the first of them stands: one press away. */
export function Words({ view }: { view: string }) {
  const terms = useContext(Terms).filter(({ views }) => views.includes(view));
  return terms.length > 0 ? (
    <Definitions
      title="What the words mean"
      of={terms.map(({ words, meaning }) => ({ label: capital(words[0]!), meaning }))}
    />
  ) : null;
}

/** The definitions of a picture's rows, which fill a page: one press away. */
export function Definitions({ of, title = "What the rows mean" }: { of: readonly Meant[]; title?: string }) {
  return (
    <details class="definitions">
      <summary>{title}</summary>
      <MeantList of={of} />
    </details>
  );
}

function MeantList({ of }: { of: readonly Meant[] }) {
  return (
    <dl class="words">
      {of.map(({ label, meaning }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{meaning}</dd>
        </div>
      ))}
    </dl>
  );
}

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
