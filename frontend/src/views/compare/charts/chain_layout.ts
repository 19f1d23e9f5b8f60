/** The text above the columns of a chain: each line has the longest form for which all columns have room. */

import { labelWidth } from "../../../charts/axes/labels";

/** The forms of one line, the longest first; the line is left out where there is no room for any of them. */
export type Line = readonly string[];

/** Gap between neighbours, px. */
const APART = 8;

/** The lines of each column that fit; all columns use the same form of a line, so that they can be compared. */
export function fittingLines(columns: readonly (readonly Line[])[], pitch: number): readonly (readonly string[])[] {
  const count = Math.max(0, ...columns.map((lines) => lines.length));
  const forms = Array.from({ length: count }, (_, line) =>
    formOf(
      columns.map((lines) => lines[line] ?? []),
      pitch,
    ),
  );
  return columns.map((lines) =>
    forms.flatMap((form, at) => {
      const line = lines[at] ?? [];
      const shown = form === null ? undefined : line[Math.min(form, line.length - 1)];
      return shown ? [shown] : [];
    }),
  );
}

function formOf(lines: readonly Line[], pitch: number): number | null {
  const most = Math.max(0, ...lines.map((line) => line.length));
  for (let form = 0; form < most; form++) {
    const texts = lines.flatMap((line) => (line.length > 0 ? [line[Math.min(form, line.length - 1)]!] : []));
    if (texts.every((text) => labelWidth({ text }) <= pitch - APART)) return form;
  }
  return null;
}
