/**
 * The shortest names that distinguish a few runs, workers or spans: a common beginning or end is left out.
 *
 *     resnet50_bs64_workers_4_amp     ->  workers_4
 *     resnet50_bs64_workers_8_amp     ->  workers_8
 *
 * Names are cut between words only, and a number keeps the word before it, because "8" alone says nothing.
 */

/** A word; numbers joined by a dot, dash or colon count as one word, as in "0.01" and "2024-05-17". */
const WORD = /[\p{L}\p{N}]+(?:(?<=\p{N})[.:-](?=\p{N})[\p{L}\p{N}]+)*/gu;

const LETTER = /\p{L}/u;

/** Cuts a name before each of its words; what precedes the first word belongs to that word. */
function piecesOf(name: string): string[] {
  const starts = [...name.matchAll(WORD)].map((word) => word.index);
  if (starts.length === 0) return [name];
  return starts.map((start, at) => name.slice(at === 0 ? 0 : start, starts[at + 1]));
}

/** The number of leading pieces that all names share; `most` leaves each name at least one piece of its own. */
function sharedCount(names: readonly (readonly string[])[], most: number): number {
  const first = names[0]!;
  for (let at = 0; at < most; at++) {
    if (names.some((pieces) => pieces[at] !== first[at])) return at;
  }
  return most;
}

/** Maps each name to its short form: never empty, a part of the name, and different for each name. */
export function shortNames(names: Iterable<string>): ReadonlyMap<string, string> {
  const whole = [...new Set(names)];
  const short = whole.length < 2 ? whole : cut(whole.map(piecesOf));
  return new Map(whole.map((name, at) => [name, short[at]!]));
}

function cut(names: readonly (readonly string[])[]): string[] {
  const least = Math.min(...names.map((pieces) => pieces.length));
  const before = sharedCount(names, least - 1);
  const begin = before > 0 && names.some((pieces) => !LETTER.test(pieces[before]!)) ? before - 1 : before;
  const after = sharedCount(
    names.map((pieces) => pieces.slice(before).reverse()),
    least - before - 1,
  );
  const ended = names.map((pieces) =>
    pieces
      .slice(begin, pieces.length - after)
      .join("")
      .replace(BEHIND_WORDS, ""),
  );
  const distinct = after > 0 && new Set(ended).size === names.length && !ended.includes("");
  return distinct ? ended : names.map((pieces) => pieces.slice(begin).join(""));
}

/** Separators between the last word that is kept and those that are left out are removed as well. */
const BEHIND_WORDS = /[^\p{L}\p{N}]+$/u;
