/** Lines as the server measured them: their files, their figures, and the same lines of another span. */

import type { CodeLine, Unit } from "../../../api.gen";

export interface SourceLine {
  file: string;
  /** From 1. */
  line: number;
  function: string;
}

/** "data/sets.py(54): item"; null of what is no line of a file. */
export function sourceLine(source: string): SourceLine | null {
  const [, file, line, within] = /^(.+)\((\d+)\): (.*)$/.exec(source) ?? [];
  return file === undefined ? null : { file, line: Number(line), function: within! };
}

/** "data/sets.py:54 item". */
export function lineName(source: string): string {
  const found = sourceLine(source);
  return found ? `${found.file}:${found.line} ${found.function}` : source;
}

/** What is shown beside the text of a line. */
export interface Measure {
  id: "idle_ns" | "device_ns" | "host_self_ns" | "allocated_bytes";
  /** In the catalogue. */
  metric: string;
  unit: Unit;
  colour: string;
  /** As the GPU's idle time is drawn everywhere. */
  hatched: boolean;
}

const MEASURES: readonly Measure[] = [
  { id: "idle_ns", metric: "line_idle", unit: "ns", colour: "cpu", hatched: true },
  { id: "device_ns", metric: "line_device", unit: "ns", colour: "kernel", hatched: false },
  { id: "host_self_ns", metric: "line_host_self", unit: "ns", colour: "cpu", hatched: false },
  { id: "allocated_bytes", metric: "line_allocated", unit: "bytes", colour: "copy", hatched: false },
];

/** Those that any of the rows has; the first one is what the heat is of. */
export function measuresOf(rows: readonly CodeLine[]): readonly [Measure, ...Measure[]] {
  const found = MEASURES.filter(({ id }) => rows.some((row) => (row[id] ?? 0) > 0));
  return found.length > 0 ? (found as [Measure, ...Measure[]]) : [MEASURES[2]!];
}

export interface SourceFile {
  name: string;
  /** Of its lines, in the measure of the heat. */
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
 * Of the other span's rows those that are the same line: of the same name, or the only ones of their function in their
 * file, which an edit above it has moved.
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

/** By file and function, where there is one line of it; null where there are several. */
function onlyOnes(rows: readonly CodeLine[]): ReadonlyMap<string, CodeLine | null> {
  const found = new Map<string, CodeLine | null>();
  for (const row of rows) found.set(functionOf(row), found.has(functionOf(row)) ? null : row);
  return found;
}
