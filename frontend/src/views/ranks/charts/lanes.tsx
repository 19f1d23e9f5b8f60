/**
 * All ranks of a job on one clock: a row each, in the colours of what it does, and the path that decides the step below
 * the row that decides it. For the collective under the pointer, lines go from each arrival to the last one.
 */

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { type Pen, stripes } from "../../../charts/canvas/canvas";
import { type Palette, usePalette } from "../../../charts/canvas/palette";
import type { TipContent } from "../../../charts/pointer/tip";
import { Swatch } from "../../../colour";
import { fine, ns } from "../../../format";
import type { TimeScale } from "../../../time_range";
import { type Runs, runsOf } from "./cells";
import {
  type LaneLayout,
  type LanePlace,
  LanePlot,
  type LanePlotProps,
  laneLayout,
  type Painted,
  pathY,
  RowNames,
} from "./lane_plot";

/** The states of cells, by number. */
const STATES = ["not in this step", "its own time", "waits for others", "transfers"] as const;
const WAIT = 2;

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

export function Lanes({ found, deciding, ...plot }: LanesProps) {
  const rows = found.ranks.length;
  const layout = useMemo(() => laneLayout(rows, deciding), [rows, deciding]);
  const palette = usePalette();
  const image = useMemo(() => imageOf(found, palette), [found, palette]);
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
      paint={(pen, painted) => paintLanes(pen, found, image, painted)}
      of={[image]}
      tip={(place) => tipOf(found, place, near(place))}
      over={(place, time) => (
        <>
          <RowNames layout={layout} nameOf={(row) => `rank ${found.ranks[row]}`} />
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

/**
 * The cells as an image of one pixel each, made once for an answer: a frame then costs a few stretched images, however
 * many ranks there are.
 */
function imageOf({ ranks, bins, cells }: StepLanes, palette: Palette): OffscreenCanvas {
  const [own] = palette.fills.get("kernel")!;
  const [comm] = palette.fills.get("comm")!;
  const image = new OffscreenCanvas(bins, ranks.length);
  const pixels = pixelsOf(cells, [0, own!.plainPixel, comm!.dimPixel, comm!.plainPixel]);
  image.getContext("2d")!.putImageData(new ImageData(pixels, bins, ranks.length), 0, 0);
  return image;
}

/** ofState: by state, as a canvas stores pixels. A loop, because a function called for each cell takes far longer. */
export function pixelsOf(cells: Uint8Array, ofState: readonly number[]): Uint8ClampedArray<ArrayBuffer> {
  const pixels = new Uint32Array(cells.length);
  for (let at = 0; at < cells.length; at++) pixels[at] = ofState[cells[at]!]!;
  return new Uint8ClampedArray(pixels.buffer);
}

/** Adjacent rows of equal height without gaps: they are stretched together. */
export const bandsOfRows = ({ tops, heights }: LaneLayout): Runs =>
  runsOf(tops.length, (row) => heights[row - 1] === heights[row] && tops[row - 1]! + heights[row]! === tops[row]);

function paintLanes(pen: Pen, found: StepLanes, image: OffscreenCanvas, painted: Painted): void {
  const { layout, time, palette, width } = painted;
  pen.clearRect(0, 0, width, layout.height);
  const { from_ns, to_ns, bins, cells, arrivals } = found;
  const [left, across] = [time.x(from_ns), (to_ns - from_ns) / time.ns_per_px];
  pen.save();
  pen.beginPath();
  pen.rect(time.left, 0, width - time.left, layout.height);
  pen.clip();
  pen.imageSmoothingEnabled = false;
  for (const [from, to] of bandsOfRows(layout)) {
    const tall = layout.heights[from]! * (to - from);
    pen.drawImage(image, 0, from, bins, to - from, left, layout.tops[from]!, across, tall);
  }
  pen.fillStyle = stripes(pen, palette.fills.get("comm")![0]!.plain);
  layout.tops.forEach((top, row) => {
    if (layout.heights[row]! < HATCHED_PX) return;
    const own = cells.subarray(row * bins, (row + 1) * bins);
    for (const [from, to] of runsOf(bins, (bin) => own[bin] === own[bin - 1]))
      if (own[from] === WAIT)
        pen.fillRect(left + (across * from) / bins, top, (across * (to - from)) / bins, layout.heights[row]!);
  });
  pen.restore();
  pen.fillStyle = palette.firm;
  for (const { last, rows, arrived_ns } of arrivals)
    pen.fillRect(Math.round(time.clampedX(arrived_ns[rows.indexOf(last)]!)), 0, 1, layout.height);
}

/** What the colours of a rank's time mean, followed by further entries of a picture. */
export function RankLegend({ comm, children }: { comm: string; children?: ComponentChildren }) {
  return (
    <p class="rank-legend above">
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
