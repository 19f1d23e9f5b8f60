/** The marks of a line chart: lines with points and ranges, rings on slow steps, the reference line with its name. */

import { cached } from "../../cached";
import { colourOf, hueClass, lineClass } from "../../colour";
import { type ChartLine, type Drawn, dotOf, END_GAP, type LinePoint, OVERLAY_PX } from "./line_layout";
import { bandOf, type Dot, pathOf } from "./polyline";

/** Points closer together than this have no marks of their own. */
const MARKED_PX = 7;

export function Line({ line, drawn }: { line: ChartLine; drawn: Drawn }) {
  const dots = dotsOf(line, drawn);
  const dense = isDense(line, drawn);
  const radius = drawn.small ? SMALL_RADIUS : RADIUS;
  return (
    <g class={groupClass(line, drawn)}>
      <Band line={line} drawn={drawn} />
      <path class={`${lineClass(line)} ${dense ? "dense" : ""}`} d={pathOf(dots)} />
      {!dense &&
        isMarked(line, drawn) &&
        dots.map(
          (dot, at) =>
            dot &&
            dot.y !== drawn.shelf && <circle key={at} class={markClass(line)} cx={dot.x} cy={dot.y} r={radius} />,
        )}
      {aboveOf(dots, drawn).map(({ x, y }) => (
        <path key={x} class={markClass(line)} d={`M${x - ARROW},${y + ARROW}h${2 * ARROW}l${-ARROW},${-2 * ARROW}z`} />
      ))}
    </g>
  );
}

/** Half the side of an arrow that stands for a value above the axis, px. */
const ARROW = 4;

/** The values above the axis; of several close together only those that do not overlap. */
function aboveOf(dots: readonly (Dot | null)[], { shelf }: Drawn): Dot[] {
  let last = -Infinity;
  return dots.filter((dot): dot is Dot => {
    if (shelf === null || dot === null || dot.y !== shelf || dot.x - last < 2 * ARROW) return false;
    last = dot.x;
    return true;
  });
}

const RADIUS = 3.2;
const SMALL_RADIUS = 2.4;

const groupClass = ({ hue, focus }: ChartLine, { colour }: Drawn): string =>
  hue === undefined ? (focus ? `of-${colourOf(colour)}` : "") : hueClass(hue);

const markClass = ({ focus, strong }: ChartLine): string => (focus || strong ? "mark" : "hollow");

/** With more lines than this only the highlighted ones have marks. */
const MARKED_LINES = 4;

const isMarked = ({ focus, strong, group }: ChartLine, { lines }: Drawn): boolean =>
  focus || strong === true || (group !== true && lines.length <= MARKED_LINES);

function isDense(line: ChartLine, { frame }: Drawn): boolean {
  const points = line.points.reduce((count, point) => count + Number(point !== null && point.value !== null), 0);
  return points > 1 && (frame.right - frame.left) / points < MARKED_PX;
}

/** The points of lines that have no marks of their own, by stop. */
export function unmarkedPoints(drawn: Drawn): ReadonlyMap<string, readonly [ChartLine, Dot][]> {
  const found = new Map<string, [ChartLine, Dot][]>();
  for (const line of drawn.lines) {
    if (!isDense(line, drawn) && isMarked(line, drawn)) continue;
    for (const point of line.points) {
      const dot = point && dotOf(drawn, point);
      if (!dot) continue;
      cached(found, drawn.stops[point.stop]!.key, () => []).push([line, dot]);
    }
  }
  return found;
}

/** Draws the hovered points of lines that have no marks of their own. */
export function HoveredPoints({ drawn, points }: { drawn: Drawn; points: readonly [ChartLine, Dot][] }) {
  return (
    <>
      {points.map(([line, dot], at) => (
        <g key={`${line.key} ${at}`} class={groupClass(line, drawn)}>
          <circle class={markClass(line)} cx={dot.x} cy={dot.y} r={RADIUS} />
        </g>
      ))}
    </>
  );
}

/** The range over the processes of a run. */
function Band({ line, drawn }: { line: ChartLine; drawn: Drawn }) {
  const pick = (bound: "low" | "high") => dotsOf(line, drawn, (point) => point[bound] ?? null);
  if (!line.points.some((point) => point?.high != null)) return null;
  return (
    <path
      d={bandOf(pick("high"), pick("low"))}
      fill={line.hue !== undefined || line.focus ? "var(--fill)" : "var(--ink-3)"}
      fill-opacity={0.18}
      stroke="none"
    />
  );
}

/** A line that is visible only while it is pointed at. */
export function Isolated({ line, drawn }: { line: ChartLine; drawn: Drawn }) {
  const dots = dotsOf(line, drawn);
  return (
    <g class="of-ink">
      <path class="line isolated" d={pathOf(dots)} />
      {!isDense(line, drawn) &&
        dots.map((dot, at) => dot && <circle key={at} class="hollow" cx={dot.x} cy={dot.y} r={SMALL_RADIUS} />)}
    </g>
  );
}

/** The positions of a line's points, with a break wherever a value is missing or a segment ends. */
function dotsOf(line: ChartLine, drawn: Drawn, value = (point: LinePoint) => point.value): (Dot | null)[] {
  let segment = -1;
  return line.points.flatMap((point) => {
    if (point === null) return [null];
    const there = drawn.stops[point.stop]!.segment;
    const broken = there !== segment && segment >= 0;
    segment = there;
    const dot = dotOf(drawn, point, value(point));
    return broken ? [null, dot] : [dot];
  });
}

/** Rings around slow steps, where points are far enough apart; the table next to the picture lists all slow steps. */
export function Rings(drawn: Drawn) {
  return (
    <>
      {ringedPoints(drawn).map(({ x, y }) => (
        <circle key={x} class="ring" cx={x} cy={y} r={RING} />
      ))}
    </>
  );
}

const RING = 7;

const ringedPoints = (drawn: Drawn): Dot[] =>
  drawn.lines
    .filter((line) => line.focus && !isDense(line, drawn))
    .flatMap((line) => line.points.flatMap((point) => (point?.slow === true ? (dotOf(drawn, point) ?? []) : [])));

/** Half the width of a border's flag, and how far it is to the left of its first point, px. */
const FLAG = 4;
const BEFORE = 9;

/** Where the line in focus changes level: a line with a flag before the first point of the new level. */
export function Borders({ lines, xs, frame }: Drawn) {
  const changed = lines
    .filter((line) => line.focus)
    .flatMap((line) => line.points.filter((point) => point?.changed === true));
  return (
    <>
      {changed.map((point) => {
        const x = Math.max(frame.left, xs[point!.stop]! - BEFORE);
        return (
          <g key={point!.stop} class="border">
            <line x1={x} x2={x} y1={frame.top} y2={frame.bottom} />
            <path d={`M${x - FLAG},${frame.top - FLAG}h${2 * FLAG}l${-FLAG},${1.5 * FLAG}z`} />
          </g>
        );
      })}
    </>
  );
}

/** How far the reference line extends beyond each end, px. */
const BESIDE = 14;

export function Reference(drawn: Drawn) {
  const { reference, frame } = drawn;
  if (!reference) return null;
  return (
    <>
      {referenceChains(drawn, reference.value).map(([from, to], at) => (
        <line
          key={at}
          class="ref"
          x1={Math.max(frame.left, from.x - BESIDE)}
          x2={Math.min(frame.right, to.x + BESIDE)}
          y1={from.y}
          y2={to.y}
        />
      ))}
    </>
  );
}

/** The reference line in each segment in which the line in focus has points, from end to end. */
function referenceChains({ segments, axis, y, lines, stops }: Drawn, value: number): [Dot, Dot][] {
  const drawn = new Set(
    lines
      .filter((line) => line.focus)
      .flatMap((line) => line.points.map((point) => point && stops[point.stop]!.segment)),
  );
  return segments.flatMap(({ from, to }, at): [Dot, Dot][] =>
    drawn.has(at)
      ? [
          [
            { x: axis.x(at, from), y: y(value) },
            { x: axis.x(at, to), y: y(value) },
          ],
        ]
      : [],
  );
}

/** Pixels between the rows of a name. */
const NAME_ROW = 14;

/** The name of the reference line at its right end, where it covers nothing; it stays above the axis. */
export function ReferenceName({ beside, frame, overlay, reference, y }: Drawn) {
  if (!reference) return null;
  const foot = y(reference.value) + 4 - ((beside.length - 1) * NAME_ROW) / 2;
  const top = Math.min(foot, frame.bottom - (beside.length - 1) * NAME_ROW);
  return (
    <>
      {beside.map((row, at) => (
        <text
          key={row}
          class="second"
          x={frame.right + END_GAP / 2 + (overlay ? OVERLAY_PX : 0)}
          y={top + at * NAME_ROW}
        >
          {row}
        </text>
      ))}
    </>
  );
}
