/**
 * Which worker produces which batch when: a lane per worker under the marks of the steps, and below them how many
 * batches are ready. A drag zooms, a double click shows everything again.
 */

import { useMemo, useState } from "preact/hooks";
import type { StopSelection } from "../../../charts/pointer/pointing";
import type { TipContent } from "../../../charts/pointer/tip";
import { useTimeZoom } from "../../../charts/pointer/zoom";
import { StepRings, ZoomedPicture } from "../../../charts/time/zoomed_picture";
import { sized } from "../../../dom/size";
import { count, fine, type Scale } from "../../../format";
import { middleOf, type TimeRange } from "../../../time_range";
import {
  gutterOf,
  heightOf,
  type LanePart,
  type Lanes,
  laneAt,
  lastAt,
  ProductionLanes,
  type StepStart,
  segmentAt,
  TOP,
} from "./production_lanes";

interface ProductionProps extends Lanes, StopSelection, TimeRange {
  label: string;
  parts: readonly LanePart[];
  steps: readonly StepStart[];
  scale: Scale;
  segmentTip(lane: number, segment: number): TipContent;
}

const AXIS = 22;

export const Production = sized<ProductionProps>(ProductionPlot, (props) => heightOf(props) + AXIS);

interface Place {
  ns: number;
  lane: number | null;
}

/** The picture at a given width; pure, so that it can be drawn without a browser. */
export function ProductionPlot(props: ProductionProps & { width: number }) {
  const { from, to, lanes, depths, parts, steps, width, hovered, selected } = props;
  const [zoom, setZoom] = useState<TimeRange | null>(null);
  const [place, setPlace] = useState<Place | null>(null);
  const height = heightOf(props);
  const gutter = gutterOf(props);
  const point = (next: Place | null) => {
    setPlace(next);
    props.hover(next && stepAt(steps, next.ns));
  };
  const laneUnder = (event: PointerEvent) =>
    laneAt(lanes.length, event.clientY - (event.currentTarget as Element).getBoundingClientRect().top);
  const zoomed = useTimeZoom({
    whole: { from, to },
    zoom,
    setZoom,
    left: gutter,
    width,
    hover: (ns, event) => point(ns === null ? null : { ns, lane: laneUnder(event as PointerEvent) }),
    press: (ns) => props.select(stepAt(steps, ns)),
  });
  const { visible, time, band } = zoomed;
  const [low, high] = [visible.from, visible.to];
  const drawn = useMemo(
    () => (
      <ProductionLanes lanes={lanes} depths={depths} parts={parts} steps={steps} from={low} to={high} width={width} />
    ),
    [lanes, depths, parts, steps, low, high, width],
  );
  const type = (key: string): boolean => {
    const now = place ?? { ns: middleOf(visible), lane: lanes.length ? 0 : null };
    const lane = (by: number) => (lanes.length ? Math.max(0, Math.min(lanes.length - 1, (now.lane ?? 0) + by)) : null);
    if (key === "ArrowDown" || key === "ArrowUp") {
      point({ ...now, lane: lane(key === "ArrowDown" ? 1 : -1) });
      return true;
    }
    return zoomed.typed(key, now.ns, {
      move: (ns) => point(ns === null ? null : { ...now, ns }),
      choose: place ? () => props.select(stepAt(steps, place.ns)) : undefined,
    });
  };
  const shown = place === null || band || place.ns < low || place.ns > high ? null : place;
  return (
    <ZoomedPicture
      label={props.label}
      class="production"
      whole={{ from, to }}
      zoomed={zoomed}
      at={shown?.ns ?? null}
      content={shown && tipOf(props, shown)}
      left={gutter}
      top={TOP}
      hereTop={TOP - 4}
      width={width}
      height={height}
      scale={props.scale}
      type={type}
    >
      {drawn}
      <StepRings
        steps={steps.map(({ key, at }, place) => ({ key, from: at, to: steps[place + 1]?.at ?? to }))}
        {...{ hovered, selected, visible, time }}
        top={TOP - 4}
        height={height - 2 - TOP + 4}
      />
    </ZoomedPicture>
  );
}

const stepAt = (steps: readonly StepStart[], ns: number): string | null =>
  steps[
    lastAt(
      steps.map((step) => step.at),
      ns,
    )
  ]?.key ?? null;

function tipOf({ lanes, depths, steps, from, segmentTip }: ProductionProps, { ns, lane }: Place): TipContent {
  const segment = lane === null ? null : segmentAt(lanes[lane]!, ns);
  const about = segment === null ? { title: fine(ns - from), rows: [] } : segmentTip(lane!, segment);
  const unrecorded = lane !== null && segment === null ? [{ name: lanes[lane]!.name, value: "not recorded here" }] : [];
  const step = stepAt(steps, ns);
  const ready = depths.map((each) => ({ name: each.name, value: count(each.depth[lastAt(each.at_ns, ns)] ?? null) }));
  return {
    title: about.title,
    rows: [...unrecorded, ...about.rows, ...(step === null ? [] : [{ name: "Step", value: step }]), ...ready],
  };
}
