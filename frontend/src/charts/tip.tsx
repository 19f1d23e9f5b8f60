/** A small table beside the pointer. It repeats what the picture says in figures; no fact stands only here. */

import type { ComponentChildren } from "preact";

export interface TipRow {
  /** A swatch or a short line of the legend. */
  mark?: ComponentChildren;
  name: string;
  value: string;
}

export interface TipContent {
  title: string;
  rows: readonly TipRow[];
}

/** Pixels between the pointer and its tip. */
const APART = 8;

interface TipProps {
  content: TipContent;
  /** Where it points to, in a plot of the width. */
  x: number;
  y: number;
  width: number;
}

/** Flips to the other side of the pointer in the right half, so that it stays in the frame. */
export function Tip({ content, x, y, width }: TipProps) {
  const side = x > width / 2 ? { right: `${width - x + APART}px` } : { left: `${x + APART}px` };
  return (
    <div class="tip" style={{ ...side, top: `${y}px` }} aria-hidden="true">
      <b>{content.title}</b>
      {content.rows.length > 0 && (
        <table>
          <tbody>
            {content.rows.map((row, at) => (
              <tr key={at}>
                <td class="name">{row.mark}{row.name}</td>
                <td class="num">{row.value}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

/** The same in one sentence, for those who hear the picture. */
export function spoken({ title, rows }: TipContent): string {
  return [title, ...rows.map((row) => `${row.name} ${row.value}`)].join(", ");
}
