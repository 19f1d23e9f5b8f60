/** Ranges by their paths -> the lines of a tree, of which only the opened branches are shown. */

import type { RangeRow } from "../../api.gen";

export interface RangeLine {
  row: RangeRow;
  key: string;
  name: string;
  depth: number;
  /** How many ranges stand right below it. */
  inside: number;
  open: boolean;
}

const BETWEEN = "\n";

export const keyOf = (path: readonly string[]): string => path.join(BETWEEN);

/** Ranges within one range, longest first, each followed by what is inside it where it is open. */
export function linesOf(rows: readonly RangeRow[], open: ReadonlySet<string>): RangeLine[] {
  const known = new Set(rows.map(({ path }) => keyOf(path)));
  const inside = new Map<string, RangeRow[]>();
  for (const row of rows) {
    const around = nearestAround(row.path, known);
    inside.set(around, [...(inside.get(around) ?? []), row]);
  }
  const lines: RangeLine[] = [];
  const add = (around: string, depth: number) => {
    for (const row of [...(inside.get(around) ?? [])].sort((a, b) => b.host_ns - a.host_ns)) {
      const key = keyOf(row.path);
      lines.push({
        row,
        key,
        depth,
        name: row.path[row.path.length - 1] ?? "",
        inside: inside.get(key)?.length ?? 0,
        open: open.has(key),
      });
      if (open.has(key)) add(key, depth + 1);
    }
  };
  add("", 0);
  return lines;
}

/** The nearest range around it that has a row; "" for none. */
function nearestAround(path: readonly string[], known: ReadonlySet<string>): string {
  for (let length = path.length - 1; length > 0; length--) {
    const key = keyOf(path.slice(0, length));
    if (known.has(key)) return key;
  }
  return "";
}

/** Opened at first: all, where they are few enough to be read at once, else only the outermost. */
export function openAtFirst(rows: readonly RangeRow[], most: number): ReadonlySet<string> {
  return new Set(rows.length <= most ? rows.map(({ path }) => keyOf(path)) : []);
}
