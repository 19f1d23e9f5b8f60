/** The server's sentences, with their numbers formatted and their terms explained. */

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Phrase, Term } from "../api.gen";
import { hint } from "../dom/hint";
import { type Style, shortened } from "../format";
import { type Segment, segmentsOf, sentence } from "../phrase";
import { anyOf, capital } from "../words";

interface SentenceProps {
  /** A text of the tab itself is shown as it is. */
  phrase: Phrase | string;
  style?: Style;
  /** Whether terms are explained: not within a button, and not in every row of a table. */
  terms?: boolean;
}

/** A phrase with formatted numbers, emphasised words in bold and code in the code font. It creates text nodes only. */
export function Sentence({ phrase, style = "prose", terms = false }: SentenceProps) {
  if (typeof phrase === "string") return <>{phrase}</>;
  return <>{joined(segmentsOf(phrase, style)).map((segment, at) => marked(segment, at, terms))}</>;
}

interface RemarkProps {
  /** Nothing is shown where there is none. */
  phrase: Phrase | null | undefined;
  class?: string;
  terms?: boolean;
}

/** A phrase as a paragraph of its own, by default below a picture or a table. */
export const Remark = ({ phrase, class: className = "quiet small aside", terms = false }: RemarkProps) =>
  phrase ? (
    <p class={className}>
      <Sentence phrase={phrase} terms={terms} />
    </p>
  ) : null;

/** Joins neighbours of the same style: a term may begin in one of them and end in the next. */
const joined = (segments: readonly Segment[]): Segment[] =>
  segments.reduce<Segment[]>((found, next) => {
    const last = found[found.length - 1];
    if (!last || last.code || next.code || last.strong !== next.strong) found.push({ ...next });
    else last.text += next.text;
    return found;
  }, []);

/** Ordinary words are shorter; kernel names are longer, and no line would break inside them. */
const LONG_WORD = 48;

function marked({ text, strong, code }: Segment, at: number, terms: boolean) {
  const inner = code ? <code key={at}>{text}</code> : textNodes(text, terms);
  return strong ? <b key={at}>{inner}</b> : inner;
}

/** Shortens long names in the middle; the full name is shown on hover. */
function textNodes(text: string, terms: boolean) {
  const parts = text.split(/(\S{49,})/);
  if (parts.length === 1) return terms ? <Explained text={text} /> : text;
  return parts.map((part) =>
    part.length > LONG_WORD && !/\s/.test(part) ? <span {...hint(part)}>{shortened(part, LONG_WORD)}</span> : part,
  );
}

/** The terms that the catalogue explains; empty outside the tab. */
export const Terms = createContext<readonly Term[]>([]);

/** Splits a text into pieces; those with a meaning are terms. Each term is explained only at its first occurrence. */
export function piecesOf(text: string, terms: readonly Term[]): { text: string; meaning?: string }[] {
  const spellings = terms.flatMap((term) => term.words);
  if (spellings.length === 0) return [{ text }];
  const pattern = new RegExp(`(?<![\\w-])${anyOf(spellings)}(?![\\w-])`, "i");
  const explained = new Set<Term>();
  return text.split(pattern).map((piece, at) => {
    const term = at % 2 ? terms.find((each) => each.words.some((word) => same(word, piece))) : undefined;
    if (!term || explained.has(term)) return { text: piece };
    explained.add(term);
    return { text: piece, meaning: term.meaning };
  });
}

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

/** The meanings of a view's words, one line each, for reading and not only on hover. */
interface Meant {
  label: string;
  meaning: string;
}

/** The terms in column and row headers of a view, shown with the first of these and opened by a click. */
export function Words({ view }: { view: string }) {
  const terms = useContext(Terms).filter(({ views }) => views.includes(view));
  return terms.length > 0 ? (
    <Definitions
      title="What the words mean"
      of={terms.map(({ words, meaning }) => ({ label: capital(words[0]!), meaning }))}
    />
  ) : null;
}

/** The definitions of a picture's rows, which would fill a page: they are opened by a click. */
export function Definitions({ of, title = "What the rows mean" }: { of: readonly Meant[]; title?: string }) {
  return (
    <details class="definitions">
      <summary>{title}</summary>
      <MeantList of={of} />
    </details>
  );
}

export function MeantList({ of }: { of: readonly Meant[] }) {
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

/** What is not needed at first sight: a mark whose hint says it. On paper the text is printed in its place. */
export function Details({ text }: { text: Phrase | string | null | undefined | false }) {
  if (!text) return null;
  return (
    <span class="details">
      {"\u00a0"}
      <span role="note" aria-label="Details" {...hint(sentence(text))}>
        <svg viewBox="0 0 14 14" aria-hidden="true">
          <circle cx="7" cy="7" r="5.5" />
          <path d="M7 6.5v3.2M7 4.2v.9" />
        </svg>
      </span>
    </span>
  );
}
