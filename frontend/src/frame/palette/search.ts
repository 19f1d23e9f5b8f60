/** Which goals match the typed words, and in which order. */

import type { Goal, GoalKind } from "./goals";

/** A first character that limits the search to some kinds. */
const ONLY: Readonly<Record<string, readonly GoalKind[]>> = { ":": ["Line"], "#": ["Step"], ">": ["Command"] };

/** The most goals that are listed; a longer list would not help. */
const MOST = 60;

export interface Wanted {
  words: readonly string[];
  /** Null: all kinds. */
  kinds: readonly GoalKind[] | null;
}

export function wantedOf(typed: string): Wanted {
  const kinds = ONLY[typed.trimStart().charAt(0)] ?? null;
  const text = kinds ? typed.trimStart().slice(1) : typed;
  return {
    words: text
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== ""),
    kinds,
  };
}

/**
 * Goals that contain every word, in any order and case: first those with a word that begins with the first typed word,
 * else in the given order.
 */
export function found(goals: readonly Goal[], typed: string): readonly Goal[] {
  const { words, kinds } = wantedOf(typed);
  const among = kinds ? goals.filter(({ kind }) => kinds.includes(kind)) : goals;
  if (words.length === 0) return among.slice(0, MOST);
  const holding = among.filter((goal) => {
    const text = `${goal.name} ${goal.full ?? ""} ${goal.kind}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const [begins, others] = [true, false].map((wanted) =>
    holding.filter(({ name }) => beginsWord(name.toLowerCase(), words[0]!) === wanted),
  );
  return [...begins!, ...others!].slice(0, MOST);
}

function beginsWord(name: string, word: string): boolean {
  for (let at = name.indexOf(word); at >= 0; at = name.indexOf(word, at + 1)) {
    if (at === 0 || !/[\p{L}\p{N}]/u.test(name[at - 1]!)) return true;
  }
  return false;
}

/** A name in pieces; those that match a word are at odd indices. */
export function piecesOf(name: string, words: readonly string[]): string[] {
  if (words.length === 0) return [name];
  const longest = [...words].sort((a, b) => b.length - a.length);
  return name.split(
    new RegExp(`(${longest.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "i"),
  );
}
