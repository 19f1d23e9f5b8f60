/** Lines as the server measured them: their files and figures, which are shown, and those of another span. */

import type { CodeLine, SourceText, Unit } from "../../../api.gen";
import { sourceLine } from "../../../code_line";

/** A figure that is shown beside the text of a line. */
export interface Measure {
  id: "idle_ns" | "device_ns" | "host_self_ns" | "allocated_bytes";
  metric: string;
  unit: Unit;
  colour: string;
  /** True for GPU idle time, which is hatched everywhere. */
  hatched: boolean;
}

const MEASURES: readonly Measure[] = [
  { id: "idle_ns", metric: "line_idle", unit: "ns", colour: "cpu", hatched: true },
  { id: "device_ns", metric: "line_device", unit: "ns", colour: "kernel", hatched: false },
  { id: "host_self_ns", metric: "line_host_self", unit: "ns", colour: "cpu", hatched: false },
  { id: "allocated_bytes", metric: "line_allocated", unit: "bytes", colour: "copy", hatched: false },
];

/** The measures that any of the rows has; the first one determines the heat. */
export function measuresOf(rows: readonly CodeLine[]): readonly [Measure, ...Measure[]] {
  const found = MEASURES.filter(({ id }) => rows.some((row) => (row[id] ?? 0) > 0));
  return found.length > 0 ? (found as [Measure, ...Measure[]]) : [MEASURES[2]!];
}

interface SourceFile {
  name: string;
  /** The heat of its lines, in the first measure. */
  heat: number;
}

export function filesOf(rows: readonly CodeLine[], { id }: Measure): SourceFile[] {
  const heat = new Map<string, number>();
  for (const row of rows) {
    const file = sourceLine(row.source)?.file;
    if (file !== undefined) heat.set(file, (heat.get(file) ?? 0) + (row[id] ?? 0));
  }
  return [...heat].map(([name, sum]) => ({ name, heat: sum })).sort((a, b) => b.heat - a.heat);
}

/**
 * The rows of the other span that are the same line: they have the same name, or are the only line of their function in
 * their file on both sides, where an edit above has moved it.
 */
export function sameLines(rows: readonly CodeLine[], others: readonly CodeLine[]): ReadonlyMap<string, CodeLine> {
  const named = new Map(others.map((row) => [row.source, row]));
  const [here, there] = [onlyOnes(rows), onlyOnes(others)];
  return new Map(
    rows.flatMap((row) => {
      const key = functionOf(row);
      const found = named.get(row.source) ?? (here.get(key) ? there.get(key) : undefined);
      return found ? [[row.source, found] as const] : [];
    }),
  );
}

function functionOf({ source }: CodeLine): string {
  const found = sourceLine(source);
  return found ? `${found.file} ${found.function}` : source;
}

/** The line by file and function, where the function has only one; null where it has several. */
function onlyOnes(rows: readonly CodeLine[]): ReadonlyMap<string, CodeLine | null> {
  const found = new Map<string, CodeLine | null>();
  for (const row of rows) found.set(functionOf(row), found.has(functionOf(row)) ? null : row);
  return found;
}

export type Mark = SourceText["marks"][number];

/** Line numbers start at 1, and the last line is included. */
type ShownLine = { kind: "line"; line: number } | { kind: "fold"; first: number; last: number };

/** The most lines of a function that are shown, and how many above what is marked. */
const MOST_LINES = 60;
const ABOVE = 1;

/** A fold of fewer lines would take more room than it saves. */
const FEWEST = 3;

/**
 * Which lines of a file are shown: the measured ones, and a few around them; others are folded.
 *
 *     16  def forward(self, x):      a function with time: its first lines, or all where it is short
 *     17      return self.net(x)
 *         23 lines without time      a fold, which can be opened
 *     41  def step(...):
 */
export function shownLines(count: number, marks: readonly Mark[], opened: ReadonlySet<number>): ShownLine[] {
  const lines = new Uint8Array(count + 2);
  for (const { first, last } of marks) {
    if (first === 0) continue;
    const end = Math.min(count, last, first + MOST_LINES);
    lines.fill(1, Math.max(1, first - ABOVE), end + 1);
  }
  const shown: ShownLine[] = [];
  for (let line = 1; line <= count; ) {
    let past = line;
    while (past <= count && lines[past] === lines[line]) past++;
    if (lines[line] || opened.has(line) || past - line < FEWEST)
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
