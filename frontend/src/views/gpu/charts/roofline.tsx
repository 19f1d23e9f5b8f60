/** A roofline: dots under the roofs of memory and arithmetic. A dot's shape and colour show what bounds it. */

import { max } from "d3-array";
import { useMemo, useState } from "preact/hooks";
import { indexOf } from "../../../charts/pointer/pointing";
import { StopsPicture } from "../../../charts/pointer/stops_picture";
import type { TipContent } from "../../../charts/pointer/tip";
import { svgPaint } from "../../../colour";
import { sized } from "../../../dom/size";
import { textWidth } from "../../../dom/text_width";
import { text, tick } from "../../../format";
import {
  type FlatRoof,
  memoryLabel,
  type RooflinePoint,
  type RooflineScales,
  radius,
  roofLine,
  roofName,
  scalesOf,
} from "./roofline_layout";

export type DotShape = "circle" | "square" | "triangle" | "diamond";

export interface RooflineMark extends RooflinePoint {
  colour: string;
  shape: DotShape;
  /** Dots of one group are hidden together. */
  group: string;
  tip: TipContent;
}

interface RooflineProps {
  label: string;
  /** The largest area first. */
  points: readonly RooflineMark[];
  /** Groups that are hidden; the axes stay as they are. */
  off: ReadonlySet<string>;
  roofs: readonly FlatRoof[];
  memory_gbs: number | null;
  chosen: string | null;
  choose(key: string | null): void;
}

const HEIGHT = 340;
const LEFT = 56;
const TOP = 14;
const BELOW = 36;
const RIGHT = 12;

/** How near the pointer must be to a dot's edge, px. */
const NEAR = 6;

export const RooflinePlot = sized<RooflineProps>(Plot, HEIGHT);

function Plot(props: RooflineProps & { width: number }) {
  const { label, points: all, off, roofs, memory_gbs, width, chosen, choose } = props;
  const [hovered, setHovered] = useState<number | null>(null);
  const points = useMemo(() => all.filter(({ group }) => !off.has(group)), [all, off]);
  const frame = useMemo(() => ({ left: LEFT, right: width - RIGHT, top: TOP, foot: HEIGHT - BELOW }), [width]);
  const scales = useMemo(() => scalesOf(all, roofs, memory_gbs, frame), [all, roofs, memory_gbs, frame]);
  const placed = useMemo(() => placedOn(points, max(all, ({ area }) => area) ?? 1, scales), [points, all, scales]);
  const dots = useMemo(
    () => points.map((point, index) => <Dot key={point.key} looks={point} place={placed[index]!} />),
    [points, placed],
  );
  const picked = indexOf(points, ({ key }) => key === chosen);
  const shown = hovered !== null && hovered < points.length ? hovered : picked;
  const content = shown === null ? null : points[shown]!.tip;
  // the kernel that is open keeps its ring; its tip would lie over whatever is shown where the picture is scrolled away
  const told = shown === hovered ? content : null;
  return (
    <StopsPicture
      class="chart roofline"
      {...{ label, width, content }}
      height={HEIGHT}
      at={hovered}
      count={points.length}
      stopAt={(x, y) => nearDot(placed, x, y)}
      hover={(dot) => setHovered(dot)}
      select={(dot) => choose(dot === null ? null : points[dot]!.key)}
      tip={{ content: told, x: placed[shown ?? 0]?.x ?? 0, y: placed[shown ?? 0]?.y ?? 0 }}
    >
      {scales.yTicks.map((value, index) => (
        <g key={value}>
          <line
            class={index === 0 ? "tick" : "grid"}
            x1={LEFT}
            x2={frame.right}
            y1={scales.y(value)}
            y2={scales.y(value)}
          />
          <text class="end" x={LEFT - 6} y={scales.y(value) + 4}>
            {powerOfTen(value)}
          </text>
        </g>
      ))}
      {scales.xTicks.map((value) => (
        <g key={value}>
          <line class="tick" x1={scales.x(value)} x2={scales.x(value)} y1={frame.foot} y2={frame.foot + 4} />
          <text class="mid" x={scales.x(value)} y={frame.foot + 16}>
            {powerOfTen(value)}
          </text>
        </g>
      ))}
      <text x={LEFT + 4} y={TOP - 3}>
        TFLOP/s
      </text>
      <text class="mid" x={(LEFT + frame.right) / 2} y={HEIGHT - 4}>
        FLOP/byte at most, log scale
      </text>
      {memory_gbs !== null && roofs.map((roof) => <RoofLine key={roof.name} roof={roof} />)}
      {memory_gbs !== null && roofs.length > 0 && <MemoryLabel gbs={memory_gbs} />}
      <g pointer-events="none">{dots}</g>
      {memory_gbs !== null && roofs.map((roof) => <RoofName key={roof.name} roof={roof} />)}
      {shown !== null && <Dot looks={points[shown]!} place={placed[shown]!} ink />}
    </StopsPicture>
  );

  function MemoryLabel({ gbs }: { gbs: number }) {
    const name = `${text(gbs, "number")} GB/s`;
    const line = roofLine(max(roofs, (roof) => roof.tflops)!, gbs, scales);
    return (
      <text class="end" {...memoryLabel(line, textWidth(name), LEFT)}>
        {name}
      </text>
    );
  }

  function RoofLine({ roof }: { roof: FlatRoof }) {
    const line = roofLine(roof.tflops, memory_gbs!, scales);
    return (
      <path
        class="roof"
        d={`M${line.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}`}
        fill="none"
        stroke="var(--ink)"
        stroke-opacity="0.55"
        stroke-width="1.5"
      />
    );
  }

  /** Drawn in front of the dots, which are crowded at the end of a roof that they reach. */
  function RoofName({ roof }: { roof: FlatRoof }) {
    const line = roofLine(roof.tflops, memory_gbs!, scales);
    const place = roofName(line, textWidth(roof.name), placed);
    return (
      <text class="end halo" pointer-events="none" {...place}>
        {roof.name}
      </text>
    );
  }
}

interface Placed {
  x: number;
  y: number;
  r: number;
}

/** A tick of an axis of powers: the least ones as "1e-7". */
const powerOfTen = (value: number): string => (value < 0.001 ? value.toExponential(0) : tick(value));

const placedOn = (points: readonly RooflineMark[], most: number, scales: RooflineScales): Placed[] =>
  points.map((point) => ({ x: scales.x(point.x), y: scales.y(point.y), r: radius(point.area, most) }));

/** The smallest dot near a position, which is in front; null: there is none. */
function nearDot(placed: readonly Placed[], x: number, y: number): number | null {
  let found: number | null = null;
  for (let at = 0; at < placed.length; at++) {
    const dot = placed[at]!;
    if (Math.hypot(dot.x - x, dot.y - y) - dot.r >= NEAR) continue;
    if (found === null || dot.r < placed[found]!.r) found = at;
  }
  return found;
}

interface DotProps {
  looks: Pick<RooflineMark, "shape" | "colour">;
  place: Placed;
  /** Draws the outline of the dot that is pointed at. */
  ink?: boolean;
}

function Dot({ looks: { shape, colour }, place, ink = false }: DotProps) {
  const edge = ink ? { stroke: "var(--ink)", "stroke-width": 2 } : { stroke: "var(--surface)", "stroke-width": 1 };
  return <path d={outline(shape, place)} {...svgPaint(colour)} {...edge} />;
}

export function DotSample({ shape, colour }: { shape: DotShape; colour: string }) {
  return (
    <svg class="plot" width="12" height="12" aria-hidden="true">
      <path d={outline(shape, { x: 6, y: 6, r: 4.4 })} {...svgPaint(colour)} />
    </svg>
  );
}

/** A closed shape of about the same area as the circle with that radius. */
function outline(shape: DotShape, { x, y, r }: { x: number; y: number; r: number }): string {
  const to = (points: readonly (readonly [number, number])[]) =>
    `M${points.map(([dx, dy]) => `${(x + dx * r).toFixed(1)} ${(y + dy * r).toFixed(1)}`).join("L")}z`;
  switch (shape) {
    case "square":
      return to([
        [-0.89, -0.89],
        [0.89, -0.89],
        [0.89, 0.89],
        [-0.89, 0.89],
      ]);
    case "triangle":
      return to([
        [0, -1.35],
        [1.2, 0.8],
        [-1.2, 0.8],
      ]);
    case "diamond":
      return to([
        [0, -1.25],
        [1.25, 0],
        [0, 1.25],
        [-1.25, 0],
      ]);
    default:
      return `M${(x - r).toFixed(1)} ${y.toFixed(1)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
  }
}
