/**
 * Which lines of a file are shown: the measured ones, and a few around them; others are folded.
 *
 *     16  def forward(self, x):      a function with time: its first lines, or all where it is short
 *     17      return self.net(x)
 *         23 lines without time      a fold, which can be opened
 *     41  def step(...):
 */

import type { SourceText } from "../../../api.gen";

export type Mark = SourceText["marks"][number];

/** Line numbers start at 1, and the last line is included. */
type ShownLine = { kind: "line"; line: number } | { kind: "fold"; first: number; last: number };

/** The most lines of a function that are shown, and how many above what is marked. */
const MOST_LINES = 60;
const ABOVE = 1;

/** A fold of fewer lines would take more room than it saves. */
const FEWEST = 3;

export function shownLines(count: number, marks: readonly Mark[], opened: ReadonlySet<number>): ShownLine[] {
  const wanted = new Uint8Array(count + 2);
  for (const { first, last } of marks) {
    if (first === 0) continue;
    const end = Math.min(count, last, first + MOST_LINES);
    wanted.fill(1, Math.max(1, first - ABOVE), end + 1);
  }
  const shown: ShownLine[] = [];
  for (let line = 1; line <= count; ) {
    let past = line;
    while (past <= count && wanted[past] === wanted[line]) past++;
    if (wanted[line] || opened.has(line) || past - line < FEWEST)
      for (let each = line; each < past; each++) shown.push({ kind: "line", line: each });
    else shown.push({ kind: "fold", first: line, last: past - 1 });
    line = past;
  }
  return shown;
}

/** For each line the innermost mark that contains it: the inner one of nested functions. */
export function marksByLine(count: number, marks: readonly Mark[]): readonly (Mark | undefined)[] {
  const found: (Mark | undefined)[] = new Array(count + 1).fill(undefined);
  const outermost = [...marks].sort((a, b) => b.last - b.first - (a.last - a.first));
  for (const mark of outermost) {
    if (mark.first === 0) continue;
    for (let line = mark.first; line <= Math.min(count, mark.last); line++) found[line] = mark;
  }
  return found;
}
