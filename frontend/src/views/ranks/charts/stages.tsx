/**
 * The stages of a pipeline against time: forward passes in the plain colour, backward passes in another shade of it,
 * and between them the idle time of a stage, hatched in the colour of its cause.
 */

import { useMemo } from "preact/hooks";
import { type Pen, stripes } from "../../../charts/canvas/canvas";
import type { TipContent } from "../../../charts/pointer/tip";
import type { Colour } from "../../../colour";
import { fine, ns } from "../../../format";
import type { TimeScale } from "../../../time_range";
import { isTall, type LaneLayout, LanePlot, type LanePlotProps, laneLayout, type Painted, RowNames } from "./lane_plot";

export type Cause = "schedule" | "imbalance" | "ordering" | "transfer";

/** A piece of a row, from one instant of the picture to another. */
interface Piece {
  row: number;
  from_ns: number;
  to_ns: number;
}

/** One step; kind: index into `KINDS`. */
interface DrawnStep {
  length_ns: number;
  passes: readonly (Piece & { kind: number; stage: number; micro_batch: number })[];
  bubbles: readonly (Piece & { cause: Cause })[];
}

interface StageRow {
  rank: number;
  stages: readonly number[];
}

export const CAUSE_COLOURS: Readonly<Record<Cause, Colour>> = {
  schedule: "other",
  imbalance: "cpu",
  ordering: "blocking",
  transfer: "comm",
};

/** Names for the values of PassPiece.kind. */
export const KINDS = ["forward", "backward", "backward, inputs", "backward, weights"] as const;

interface StagesProps extends Pick<LanePlotProps, "label" | "zoom" | "setZoom" | "open"> {
  step: DrawnStep;
  rows: readonly StageRow[];
  words: Readonly<Record<Cause, string>>;
}

const GUTTER = 124;

export function Stages({ step, rows, words, ...plot }: StagesProps) {
  const layout = useMemo(() => laneLayout(rows.length, []), [rows.length]);
  return (
    <LanePlot
      {...plot}
      layout={layout}
      length_ns={step.length_ns}
      gutter={GUTTER}
      paint={(pen, painted) => paintStages(pen, step, painted)}
      of={[step]}
      tip={(place) => tipOf(step, rows, words, place)}
      over={() => <RowNames layout={layout} nameOf={(row) => nameOf(rows[row]!)} />}
    />
  );
}

const nameOf = ({ rank, stages }: StageRow): string =>
  `stage ${stages.length > 2 ? `${stages[0]} …` : stages.join(", ")} · rank ${rank}`;

function tipOf(
  step: DrawnStep,
  rows: readonly StageRow[],
  words: Readonly<Record<Cause, string>>,
  { row, at }: { row: number; at: number },
): TipContent {
  const here = (each: Piece) => each.row === row && each.from_ns <= at && at < each.to_ns;
  const pass = step.passes.find(here);
  const bubble = pass ? undefined : step.bubbles.find(here);
  const length = ({ from_ns, to_ns }: Piece) => ns(to_ns - from_ns);
  return {
    title: `${nameOf(rows[row]!)}, ${fine(at)}`,
    rows: [
      ...(pass
        ? [{ name: `${KINDS[pass.kind]}, micro-batch ${pass.micro_batch}, stage ${pass.stage}`, value: length(pass) }]
        : []),
      ...(bubble ? [{ name: `Idle: ${words[bubble.cause].toLowerCase()}`, value: length(bubble) }] : []),
      ...(pass || bubble ? [] : [{ name: "Its own", value: "between passes" }]),
    ],
    act: "A press opens this rank here.",
  };
}

/** A pass shows the number of its micro-batch where it is at least this wide. */
const NUMBER_PX = 16;

function paintStages(pen: Pen, step: DrawnStep, { layout, time, palette, width }: Painted): void {
  pen.clearRect(0, 0, width, layout.height);
  const hatches = new Map<Cause, CanvasPattern | string>();
  for (const { row, cause, from_ns, to_ns } of step.bubbles) {
    const [fill] = palette.fills.get(CAUSE_COLOURS[cause])!;
    const hatch = hatches.get(cause) ?? stripes(pen, fill!.plain);
    hatches.set(cause, hatch);
    for (const style of [fill!.dim, hatch]) box(pen, style, layout, time, row, from_ns, to_ns);
  }
  const [forward, , backward] = palette.fills.get("kernel")!;
  pen.font = palette.fonts.axis;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (const { row, kind, micro_batch, from_ns, to_ns } of step.passes) {
    const fill = kind === 0 ? forward! : backward!;
    const across = box(pen, fill.plain, layout, time, row, from_ns, to_ns);
    if (across < NUMBER_PX || !isTall(layout, row)) continue;
    pen.fillStyle = fill.ink;
    const middle = (time.clampedX(from_ns) + time.clampedX(to_ns)) / 2;
    pen.fillText(`${micro_batch}`, middle, layout.tops[row]! + layout.heights[row]! / 2 + 1);
  }
}

/** Draws a box and returns its width in pixels. A hairline separates neighbours that have room for one. */
function box(
  pen: Pen,
  style: CanvasPattern | string,
  { tops, heights }: LaneLayout,
  time: TimeScale,
  row: number,
  from: number,
  to: number,
): number {
  const [left, right] = [time.clampedX(from), time.clampedX(to)];
  const across = right - left;
  if (across <= 0) return 0;
  pen.fillStyle = style;
  pen.fillRect(left, tops[row]!, across > 3 ? across - 1 : across, heights[row]!);
  return across;
}
