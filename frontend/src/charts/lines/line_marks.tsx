/** The marks of a line chart: lines with their points and ranges, rings on slow steps, and names next to lines. */

import { colourOf, hueClass, lineClass } from "../../colour";
import { textWidth } from "../../dom/text_width";
import { shortened } from "../../format";
import { type ChartLine, type Drawn, dotOf, type LinePoint } from "./line_layout";
import { bandOf, chains, type Dot, decimated, pathOf } from "./polyline";

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
  const known = line.points.reduce((count, point) => count + Number(point !== null && point.value !== null), 0);
  return known > 1 && (frame.right - frame.left) / known < MARKED_PX;
}

/** The points of lines that have no marks of their own, by stop. */
export function unmarkedPoints(drawn: Drawn): ReadonlyMap<string, readonly [ChartLine, Dot][]> {
  const found = new Map<string, [ChartLine, Dot][]>();
  for (const line of drawn.lines) {
    if (!isDense(line, drawn) && isMarked(line, drawn)) continue;
    for (const point of line.points) {
      const dot = point && dotOf(drawn, point);
      if (!dot) continue;
      const { key } = drawn.stops[point.stop]!;
      const there = found.get(key);
      if (there) there.push([line, dot]);
      else found.set(key, [[line, dot]]);
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
export function dotsOf(line: ChartLine, drawn: Drawn, value = (point: LinePoint) => point.value): (Dot | null)[] {
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

/** The upper and the lower edge of a ring. */
const edgesOf = ({ x, y }: Dot): Dot[][] =>
  [y - RING, y + RING].map((edge) => [
    { x: x - RING, y: edge },
    { x: x + RING, y: edge },
  ]);

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
  const held = new Set(
    lines
      .filter((line) => line.focus)
      .flatMap((line) => line.points.map((point) => point && stops[point.stop]!.segment)),
  );
  return segments.flatMap(({ from, to }, at): [Dot, Dot][] =>
    held.has(at)
      ? [
          [
            { x: axis.x(at, from), y: y(value) },
            { x: axis.x(at, to), y: y(value) },
          ],
        ]
      : [],
  );
}

/** With more lines than one can distinguish, names next to lines do not help: then only the legend names them. */
const NAMED_LINES = 4;

/** The most characters of a name next to its line. */
export const NAME_LENGTH = 28;

/** The name of each line next to it; the line in focus is named at its reference line, where that has no name. */
export function DirectLabels(drawn: Drawn) {
  const { lines, frame } = drawn;
  const reference = drawn.beside.length > 0 ? undefined : drawn.reference;
  if (lines.length === 1 && !reference) return null;
  // Where names are at the ends of lines, or there are too many lines to name, only the reference line is named here.
  const named = drawn.ends > 0 || lines.length > NAMED_LINES ? lines.filter((line) => line.focus && reference) : lines;
  const taken = lines.flatMap((line) => chains(dotsOf(line, drawn)).map(decimated));
  const level = drawn.reference && referenceChains(drawn, drawn.reference.value);
  if (level) taken.push(...level);
  taken.push(...ringedPoints(drawn).flatMap(edgesOf));
  const areas = drawn.axis.edges.map(([left, right]) => ({
    left: left + 4,
    right,
    top: frame.top - 6,
    bottom: frame.bottom,
  }));
  return (
    <>
      {named.map((line) => {
        const ownLevel = line.focus && reference ? level : undefined;
        const text = ownLevel ? reference!.name : shortened(line.name, NAME_LENGTH);
        const own = ownLevel?.map(piecesOf) ?? chains(dotsOf(line, drawn)).map(decimated);
        const itself: readonly (readonly Dot[])[] = ownLevel ?? own;
        const others = taken.filter((chain) => !itself.includes(chain));
        const spot = placeLabel(text, own, others, areas);
        if (!spot) return null;
        taken.push([
          { x: spot.x - 3 * text.length, y: spot.y - 4 },
          { x: spot.x + 3 * text.length, y: spot.y - 4 },
        ]);
        return (
          <text key={line.key} class="second halo mid" x={spot.x} y={spot.y}>
            {text}
          </text>
        );
      })}
    </>
  );
}

/** Pixels between a line and the baseline of a name above it, or of a name below it. */
const ABOVE = 7;
const BELOW = 16;

/** The length of the pieces of a level along which its name is tried, px. */
const PIECE = 12;

function piecesOf([from, to]: [Dot, Dot]): Dot[] {
  const count = Math.max(1, Math.ceil((to.x - from.x) / PIECE));
  return Array.from({ length: count + 1 }, (_, at) => ({ x: from.x + ((to.x - from.x) * at) / count, y: from.y }));
}

/** The least distance of any line from the middle of a name, px: half of the name, a point and a gap. */
const CLEAR = 10;

/** The most places that are tried: on a long line, only every n-th. */
const MOST_SPOTS = 120;

interface Area {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/**
 * The middle of the text's baseline within one of the areas, or null where there is no room. `taken`: lines that the
 * text must not touch.
 */
export function placeLabel(
  text: string,
  own: readonly (readonly Dot[])[],
  taken: readonly (readonly Dot[])[],
  areas: readonly Area[],
): Dot | null {
  const half = textWidth(text) / 2;
  let best: Dot | null = null;
  let room = CLEAR;
  const spots = own.flatMap(middles);
  const pace = Math.ceil(spots.length / MOST_SPOTS);
  for (const { x, y } of spots.filter((_, at) => at % pace === 0)) {
    const area = areas.find(({ left, right }) => x - half >= left && x + half <= right);
    if (!area) continue;
    for (const foot of [y - ABOVE, y + BELOW]) {
      if (foot - 10 < area.top || foot > area.bottom) continue;
      const clear = clearance(x - half, x + half, foot - 4, taken);
      if (clear > room) [best, room] = [{ x, y: foot }, clear];
    }
  }
  return best;
}

/** The points and the midpoints between them. */
function middles(chain: readonly Dot[]): Dot[] {
  return chain.flatMap((dot, at) => {
    const next = chain[at + 1];
    return next ? [dot, { x: (dot.x + next.x) / 2, y: (dot.y + next.y) / 2 }] : [dot];
  });
}

/**
 * The least vertical distance of any line from the middle of the name, over the name's width; 0 where a line crosses
 * it.
 */
function clearance(from: number, to: number, y: number, taken: readonly (readonly Dot[])[]): number {
  let least = FAR;
  for (const chain of taken) {
    chain.forEach((dot, at) => {
      const next = chain[at + 1] ?? dot;
      if (next.x < from || dot.x > to) return;
      const [a, b] = next.x === dot.x ? [dot.y, next.y] : [heightAt(dot, next, from), heightAt(dot, next, to)];
      const inside = Math.min(a, b) <= y && y <= Math.max(a, b);
      least = Math.min(least, inside ? 0 : Math.min(Math.abs(a - y), Math.abs(b - y)));
    });
  }
  return least;
}

/** Distances beyond this are all equally good. */
const FAR = 40;

/** The height of a segment at x, or at its nearer end where x is beyond it. */
function heightAt(start: Dot, end: Dot, x: number): number {
  if (x <= start.x) return start.y;
  return x >= end.x ? end.y : start.y + ((end.y - start.y) * (x - start.x)) / (end.x - start.x);
}
