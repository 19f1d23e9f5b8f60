/** Lines as the server measured them: their files, their figures, and the same lines of another span. */

import type { CodeLine, Unit } from "../../../api.gen";

interface SourceLine {
  file: string;
  /** Counted from 1. */
  line: number;
  function: string;
}

/** Parses "data/sets.py(54): item"; null for anything that is not a line of a file. */
export function sourceLine(source: string): SourceLine | null {
  const [, file, line, within] = /^(.+)\((\d+)\): (.*)$/.exec(source) ?? [];
  return file === undefined ? null : { file, line: Number(line), function: within! };
}

/** Returns "data/sets.py:54 item". */
export function lineName(source: string): string {
  const found = sourceLine(source);
  return found ? `${found.file}:${found.line} ${found.function}` : source;
}

/** The same without the folders of the file. */
export const shortName = (source: string): string => lineName(source).replace(/^[^:]*\//, "");

/** A figure that is shown beside the text of a line. */
export interface Measure {
  id: "idle_ns" | "device_ns" | "host_self_ns" | "allocated_bytes";
  /** Its id in the catalogue. */
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

/** The files of the rows, the hottest first. */
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
