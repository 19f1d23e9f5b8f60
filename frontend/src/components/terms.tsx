/** Terms that not every reader knows: marked where they first stand in a sentence, one popover away from a meaning. */

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Term } from "../api.gen";
import { hint } from "../dom/hint";

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

export function Explained({ text }: { text: string }) {
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
