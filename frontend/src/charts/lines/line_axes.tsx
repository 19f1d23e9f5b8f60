/** The axes of a line chart: grid and values on the left, steps and spans below, the breaks between spans. */

import { textWidth } from "../../dom/text_width";
import { type AxisLabel, thinned } from "../axes/ticks";
import { ValueGrid } from "../axes/value_axis";
import type { Drawn, LineSegment } from "./line_layout";

/** The unit is written at the top tick only. */
export function AxisY({ ticks, scale, frame, tickY }: Drawn) {
  const y = (tick: number) => Math.round(tickY(tick) * 10) / 10;
  return <ValueGrid ticks={ticks} y={y} left={frame.left} right={frame.right} unit={scale.unit} />;
}

/** The values above the end of the axis: the line at which they are drawn, and the text that names them. */
export function AxisEnd({ shelf, frame, above, small }: Drawn) {
  if (shelf === null) return null;
  return (
    <g>
      <line class="grid" stroke-dasharray="2 3" x1={frame.left} x2={frame.right} y1={shelf} y2={shelf} />
      <text class="end" x={frame.left - 6} y={shelf + 4}>
        above
      </text>
      <text class="end own" x={frame.right} y={shelf - (small ? 6 : 8)}>
        {above}
      </text>
    </g>
  );
}

/** Breaks narrower than this are left as space without a mark. */
const MARKED_BREAK = 8;

export function Breaks({ axis, frame }: Drawn) {
  if (axis.gap < MARKED_BREAK) return null;
  return (
    <g>
      {axis.edges.slice(0, -1).map(([, end]) => (
        <g key={end}>
          <rect class="cover" x={end} y={frame.top - 6} width={axis.gap} height={frame.bottom - frame.top + 8} />
          <path
            class="tick"
            fill="none"
            d={`M${end} ${frame.bottom + 4}l3 -8M${end + axis.gap - 3} ${frame.bottom + 4}l3 -8`}
          />
        </g>
      ))}
    </g>
  );
}

export function AxisX(drawn: Drawn) {
  const { segments, small, frame } = drawn;
  const marks = inFrame(separate(marksOf(drawn)), frame.right);
  const captions = inFrame(
    small
      ? smallCaptions(drawn, marks)
      : thinned(segments.map((segment, at) => ({ x: middle(drawn, at), text: segment.caption }))),
    frame.right,
  );
  return (
    <g>
      {marks.map((mark) => (
        <text key={mark.x} class="mid" x={mark.x} y={frame.bottom + (small ? 15 : 14)}>
          {mark.text}
        </text>
      ))}
      {captions.map((mark) => (
        <text key={mark.x} class="mid" x={mark.x} y={frame.bottom + (small ? 15 : 29)}>
          {mark.text}
        </text>
      ))}
    </g>
  );
}

/** Drops labels that would touch the one before: two neighbouring segments may end and begin with long labels. */
function separate(labels: readonly AxisLabel[]): readonly AxisLabel[] {
  let end = -Infinity;
  return labels.filter(({ x, text }) => {
    const half = textWidth(text) / 2;
    if (x - half < end + 4) return false;
    end = x + half;
    return true;
  });
}

/** Moves labels so that none is cut off at an edge. */
function inFrame(labels: readonly AxisLabel[], right: number): readonly AxisLabel[] {
  return labels.map(({ x, text }) => {
    const half = textWidth(text) / 2;
    return { x: Math.max(half, Math.min(right - half, x)), text };
  });
}

/** Segments narrower than this many pixels have no ticks of their own; the captions below locate them. */
const MARKED_SEGMENT = 30;

function marksOf(drawn: Drawn): readonly AxisLabel[] {
  const { segments, axis, small } = drawn;
  const narrowest = Math.min(...axis.edges.map(([start, end]) => end - start));
  if (narrowest < MARKED_SEGMENT) return segments.length === 1 ? ends(drawn, segments[0]!, 0) : [];
  return segments.flatMap((segment, at) => (small ? ends(drawn, segment, at) : thinned(place(drawn, segment, at))));
}

const place = ({ axis }: Drawn, { marks }: LineSegment, segment: number): AxisLabel[] =>
  marks.map((mark) => ({ x: axis.x(segment, mark.at), text: mark.text }));

/** The first and the last label only. */
function ends(drawn: Drawn, segment: LineSegment, at: number): AxisLabel[] {
  const all = place(drawn, segment, at);
  const [first, last] = [all[0], all[all.length - 1]];
  return first && last && last.x - first.x > textWidth(first.text) + textWidth(last.text)
    ? [first, last]
    : first
      ? [first]
      : [];
}

const middle = ({ axis, segments }: Drawn, at: number): number =>
  (axis.x(at, segments[at]!.from) + axis.x(at, segments[at]!.to)) / 2;

/** Captions between the tick labels, where there is room. */
function smallCaptions(drawn: Drawn, marks: readonly AxisLabel[]): readonly AxisLabel[] {
  const all = drawn.segments.map((segment, at) => ({ x: middle(drawn, at), text: segment.caption }));
  return all
    .filter((caption) =>
      marks.every((mark) => Math.abs(mark.x - caption.x) > (textWidth(mark.text) + textWidth(caption.text)) / 2 + 6),
    )
    .filter((_, at) => marks.length > 0 || at === all.length >> 1);
}
