/** Names at the ends of lines, apart from each other, each joined to its line by its colour. */

import { hueClass, lineClass } from "../../colour";
import { shortenedTo } from "../../dom/text_width";
import { type Drawn, END_GAP } from "./line_layout";
import { dotsOf } from "./line_marks";
import { chains, type Dot } from "./polyline";

/** From one name to the next, px. */
const APART = 13;

/** A line that ends further from its name than this is joined to it by the colour alone, px. */
const JOINED = 40;

export function EndLabels(drawn: Drawn) {
  const { lines, frame, ends } = drawn;
  if (ends === 0) return null;
  const found = lines.flatMap((line) => {
    const last = chains(dotsOf(line, drawn)).at(-1)?.at(-1);
    return last && line.hue !== undefined ? [{ line, last }] : [];
  });
  const places = spread(
    found.map(({ last }) => last.y),
    frame.top - 2,
    frame.bottom,
  );
  return (
    <>
      {found.map(({ line, last }, at) => (
        <g key={line.key} class={hueClass(line.hue!)}>
          <path
            class={lineClass(line)}
            fill="none"
            d={`M${joint(last, frame.right)}L${frame.right + END_GAP - 4} ${places[at]}`}
          />
          <text
            class={`small run-end ${line.focus || line.strong ? "own" : ""}`}
            x={frame.right + END_GAP}
            y={places[at]! + 4}
          >
            {shortenedTo(line.name, ends - END_GAP, "small")}
          </text>
        </g>
      ))}
    </>
  );
}

function joint(last: Dot, right: number): string {
  const near = right - last.x < JOINED;
  return near ? `${last.x} ${last.y}` : `${right + 2} ${last.y}`;
}

/** Heights at least `APART` from each other, in their order, as near to where they were as the room allows. */
export function spread(heights: readonly number[], top: number, bottom: number): number[] {
  const apart = Math.min(APART, (bottom - top) / Math.max(1, heights.length - 1));
  const order = heights.map((_, at) => at).sort((a, b) => heights[a]! - heights[b]!);
  const placed = [...heights];
  let least = top;
  for (const at of order) {
    placed[at] = Math.max(least, placed[at]!);
    least = placed[at]! + apart;
  }
  let most = bottom;
  for (const at of order.reverse()) {
    placed[at] = Math.min(most, placed[at]!);
    most = placed[at]! - apart;
  }
  return placed;
}
