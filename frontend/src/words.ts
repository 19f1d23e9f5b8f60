/** Names and words: their order, and whether a text contains what was typed. */

/** Orders names as a person does: step 9 before step 10. */
export const byName = new Intl.Collator("en", { numeric: true }).compare;

/** Orders numbers by size, and everything else as names. */
export const bySize = (a: number | string, b: number | string): number =>
  typeof a === "number" && typeof b === "number" ? (a === b ? 0 : a - b) : byName(String(a), String(b));

/** The words that were typed, in lower case. */
export const wordsOf = (typed: string): string[] => typed.toLowerCase().split(/\s+/).filter(Boolean);

/** Whether a text contains each of the words, in any order and case. */
export function holds(text: string, words: readonly string[]): boolean {
  const within = text.toLowerCase();
  return words.every((word) => within.includes(word));
}

/** A pattern that matches any of the words as a whole, and is a group. */
export const anyOf = (words: readonly string[]): string =>
  `(${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`;

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
