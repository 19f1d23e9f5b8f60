/** Modules by the module around them -> the lines of a tree, of which only the opened branches are shown. */

import type { ModuleRow } from "../../api.gen";

export interface ModuleLine {
  row: ModuleRow;
  /** Its place among all rows. */
  key: number;
  depth: number;
  inside: number;
  open: boolean;
}

/** Rows come in the order of the tree, each after the one around it. */
export function linesOf(rows: readonly ModuleRow[], open: ReadonlySet<number>): ModuleLine[] {
  const depths: number[] = [];
  const shown: boolean[] = [];
  const inside = rows.map(() => 0);
  for (const { parent } of rows) if (parent >= 0) inside[parent]! += 1;
  const lines: ModuleLine[] = [];
  rows.forEach((row, key) => {
    const { parent } = row;
    depths[key] = parent < 0 ? 0 : depths[parent]! + 1;
    shown[key] = parent < 0 || (shown[parent]! && open.has(parent));
    if (shown[key]) lines.push({ row, key, depth: depths[key]!, inside: inside[key]!, open: open.has(key) });
  });
  return lines;
}

/** Opened at first: level by level, as long as no more lines than these are shown. */
export function openAtFirst(rows: readonly ModuleRow[], most: number): ReadonlySet<number> {
  let open: ReadonlySet<number> = new Set();
  for (;;) {
    const deeper = new Set([
      ...open,
      ...linesOf(rows, open)
        .filter(({ inside }) => inside > 0)
        .map(({ key }) => key),
    ]);
    if (deeper.size === open.size || linesOf(rows, deeper).length > most) return open;
    open = deeper;
  }
}

/** Of each row the names from the outermost module to its own. */
export function pathsOf(rows: readonly ModuleRow[]): string[] {
  const paths: string[] = [];
  for (const { name, parent } of rows) paths.push(parent < 0 ? name : `${paths[parent]} / ${name}`);
  return paths;
}
