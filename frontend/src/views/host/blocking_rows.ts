/** Rows of blocking calls: what tells them apart, who made them, which of them a search finds. */

import type { BlockingRow } from "../../api.gen";

export function blockingKey(row: BlockingRow): string {
  return [
    row.op,
    row.outer_op,
    row.site,
    row.call,
    row.user_range,
    row.module,
    row.source,
    row.forward_op,
    row.forward_module,
    row.forward_source,
    row.device,
  ].join("\n");
}

/** The line or the module to change, best first: of the forward pass, where the call is in the backward pass. */
export function madeBy(row: BlockingRow): string[] {
  const forward = [row.forward_source, row.forward_module, row.forward_op && `forward ${row.forward_op}`];
  return [...forward, row.source, row.module, row.user_range].filter((each): each is string => Boolean(each));
}

export function matching(rows: readonly BlockingRow[], typed: string): readonly BlockingRow[] {
  const wanted = typed.trim().toLowerCase();
  if (wanted === "") return rows;
  return rows.filter((row) =>
    [row.op, row.outer_op, row.call, row.phase, row.site, ...madeBy(row)].some((name) =>
      name?.toLowerCase().includes(wanted),
    ),
  );
}
