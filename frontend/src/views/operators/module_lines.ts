/** Converts modules, each with the module around it, to the rows of a tree that shows only opened branches. */

import type { ModuleRow } from "../../api.gen";

export interface ModuleLine {
  row: ModuleRow;
  /** Index among all rows. */
  key: number;
  depth: number;
  inside: number;
  open: boolean;
}

/** The rows are in the order of the tree, each after the one around it. */
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

/** The rows that are open initially: opened level by level, as long as no more lines than `most` are shown. */
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

/** The path of each row: the names from the outermost module to its own. */
export function pathsOf(rows: readonly ModuleRow[]): string[] {
  const paths: string[] = [];
  for (const { name, parent } of rows) paths.push(parent < 0 ? name : `${paths[parent]} / ${name}`);
  return paths;
}
