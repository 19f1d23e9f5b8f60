/**
 * All ranks of a job on one clock: a row each, in the colours of what it does, and the path that decides the step below
 * the row that decides it. For the collective under the pointer, lines go from each arrival to the last one.
 */

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { type Pen, stripes } from "../../../charts/canvas/canvas";
import type { TipContent } from "../../../charts/pointer/tip";
import { Swatch } from "../../../colour";
import { fine, ns } from "../../../format";
import type { TimeScale } from "../../../time_range";
import {
  isTall,
  type LaneLayout,
  type LanePlace,
  LanePlot,
  type LanePlotProps,
  laneLayout,
  type Painted,
  pathY,
} from "./lane_plot";

/** The states of cells, by number. */
const STATES = ["not in this step", "its own time", "waits for others", "transfers"] as const;
const [OWN, WAIT] = [1, 2];

/** The arrivals at a collective: rows, and when each arrives. */
interface Arrivals {
  label: string;
  last: number;
  wait_ns: number;
  end_ns: number;
  rows: readonly number[];
  arrived_ns: readonly number[];
}

/** A window of a step; cells: row by row, `bins` cells each. */
interface StepLanes {
  ranks: readonly number[];
  length_ns: number;
  from_ns: number;
  to_ns: number;
  bins: number;
  cells: Uint8Array;
  path: readonly { row: number; from_ns: number; to_ns: number }[];
  arrivals: readonly Arrivals[];
}

interface LanesProps extends Pick<LanePlotProps, "label" | "zoom" | "setZoom" | "open"> {
  found: StepLanes;
  /** Rows that decide how long a step is, most first. */
  deciding: readonly number[];
}

const GUTTER = 64;

/** The height that a name needs. Of low rows every n-th has a name, unless a deciding row needs the room. */
const NAME_PX = 14;

export function Lanes({ found, deciding, ...plot }: LanesProps) {
  const rows = found.ranks.length;
  const layout = useMemo(() => laneLayout(rows, deciding), [rows, deciding]);
  const near = (place: LanePlace) => meetingAt(found, place.row, place.at);
  const fan = (place: LanePlace | null, time: TimeScale) => {
    const meeting = place && near(place);
    return meeting && <Fan {...meeting} layout={layout} time={time} />;
  };
  return (
    <LanePlot
      {...plot}
      layout={layout}
      length_ns={found.length_ns}
      gutter={GUTTER}
      paint={(pen, painted) => paintLanes(pen, found, painted)}
      of={[found]}
      tip={(place) => tipOf(found, place, near(place))}
      over={(place, time) => (
        <>
          <Names found={found} layout={layout} />
          <Path found={found} layout={layout} time={time} />
          {fan(place, time)}
        </>
      )}
    />
  );
}

/** The deciding collective in which this rank is at that time. */
const meetingAt = ({ arrivals }: StepLanes, row: number, at: number): Arrivals | null =>
  arrivals.find(({ rows, arrived_ns, end_ns }) => {
    const place = rows.indexOf(row);
    return place >= 0 && arrived_ns[place]! <= at && at < end_ns;
  }) ?? null;

function tipOf(found: StepLanes, { row, at }: { row: number; at: number }, near: Arrivals | null): TipContent {
  const { from_ns, to_ns, bins, cells, ranks } = found;
  const bin = Math.floor(((at - from_ns) / (to_ns - from_ns)) * bins);
  const does = STATES[bin >= 0 && bin < bins ? cells[row * bins + bin]! : 0]!;
  return {
    title: `rank ${ranks[row]}, ${fine(at)}`,
    rows: [
      { name: "It does", value: does },
      ...(near
        ? [
            { name: near.label, value: `rank ${ranks[near.last]} arrives last` },
            { name: "Longest wait", value: ns(near.wait_ns) },
          ]
        : []),
    ],
    act: "A press opens this rank here.",
  };
}

function Names({ found: { ranks }, layout }: { found: StepLanes; layout: LaneLayout }) {
  const tall = layout.tops.filter((_, row) => isTall(layout, row));
  let free = 0;
  return (
    <>
      {ranks.map((rank, row) => {
        const top = layout.tops[row]!;
        if (top < free || tall.some((other) => other > top && other < top + NAME_PX)) return null;
        free = top + NAME_PX;
        return (
          <text key={rank} class="small own" x="0" y={top + Math.max(layout.heights[row]!, 8) / 2 + 4}>
            rank {rank}
          </text>
        );
      })}
    </>
  );
}

function Path({ found: { path }, layout, time }: { found: StepLanes; layout: LaneLayout; time: TimeScale }) {
  if (path.length === 0) return null;
  const line = path
    .map(({ row, from_ns, to_ns }, at) => {
      const [x, y] = [time.clampedX(from_ns), pathY(layout, row)];
      return `${at === 0 ? `M${x} ${y}` : `H${x}V${y}`}H${time.clampedX(to_ns)}`;
    })
    .join("");
  return (
    <>
      <path class="casing" d={line} />
      <path class="decides" d={line} />
    </>
  );
}

function Fan({ last, rows, arrived_ns, layout, time }: Arrivals & { layout: LaneLayout; time: TimeScale }) {
  const middle = (row: number) => layout.tops[row]! + layout.heights[row]! / 2;
  const [x, y] = [time.clampedX(arrived_ns[rows.indexOf(last)]!), middle(last)];
  const rays = rows.map((row, at) => `M${time.clampedX(arrived_ns[at]!)} ${middle(row)}L${x} ${y}`).join("");
  return (
    <>
      <path class="casing" d={rays} />
      <path class="ray" d={rays} />
      <circle class="last" cx={x} cy={y} r="5" />
    </>
  );
}

/** Rows at least this high are hatched where they wait; lower ones are faint there. */
const HATCHED_PX = 8;

function paintLanes(pen: Pen, found: StepLanes, { layout, time, palette, width }: Painted): void {
  pen.clearRect(0, 0, width, layout.height);
  const { from_ns, to_ns, bins, cells, ranks, arrivals } = found;
  const [own] = palette.fills.get("kernel")!;
  const [comm] = palette.fills.get("comm")!;
  const hatch = stripes(pen, comm!.plain);
  const edges = Array.from({ length: bins + 1 }, (_, at) =>
    Math.round(time.clampedX(from_ns + ((to_ns - from_ns) * at) / bins)),
  );
  for (let row = 0; row < ranks.length; row++) {
    const [top, tall] = [layout.tops[row]!, layout.heights[row]!];
    let bin = 0;
    while (bin < bins) {
      const does = cells[row * bins + bin]!;
      let end = bin + 1; // equal neighbours are one mark
      while (end < bins && cells[row * bins + end] === does) end++;
      const [left, across] = [edges[bin]!, edges[end]! - edges[bin]!];
      bin = end;
      if (does === 0 || across <= 0) continue;
      pen.fillStyle = does === OWN ? own!.plain : does === WAIT ? comm!.dim : comm!.plain;
      pen.fillRect(left, top, across, tall);
      if (does !== WAIT || tall < HATCHED_PX) continue;
      pen.fillStyle = hatch;
      pen.fillRect(left, top, across, tall);
    }
  }
  pen.fillStyle = palette.firm;
  for (const { last, rows, arrived_ns } of arrivals)
    pen.fillRect(Math.round(time.clampedX(arrived_ns[rows.indexOf(last)]!)), 0, 1, layout.height);
}

/** What the colours of a rank's time mean, followed by further entries of a picture. */
export function RankLegend({ comm, children }: { comm: string; children?: ComponentChildren }) {
  return (
    <p class="rank-legend">
      <span>
        <Swatch colour="kernel" /> own time
      </span>
      <span>
        <Swatch colour="comm" hatched /> waits for others
      </span>
      <span>
        <Swatch colour="comm" /> {comm}
      </span>
      {children}
    </p>
  );
}
