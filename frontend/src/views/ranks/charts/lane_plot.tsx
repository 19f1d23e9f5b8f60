/** Rows of ranks against time: zooming, pointing, keys and opening are the same, whatever is drawn in the rows. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type Pen, Sheet } from "../../../charts/canvas/canvas";
import { type Palette, usePalette } from "../../../charts/canvas/palette";
import { pointerY } from "../../../charts/pointer/pointing";
import type { TipContent } from "../../../charts/pointer/tip";
import { useTimeZoom } from "../../../charts/pointer/zoom";
import { ZoomedPicture } from "../../../charts/time/zoomed_picture";
import { Sized } from "../../../dom/size";
import { scaleFor } from "../../../format";
import { lengthOf, middleOf, type TimeRange, type TimeScale } from "../../../time_range";
import { type LaneLayout, rowAt } from "./lane_layout";

/** The place that the pointer is on. */
export interface LanePlace {
  row: number;
  at: number;
}

export interface Painted {
  layout: LaneLayout;
  time: TimeScale;
  palette: Palette;
  width: number;
}

interface LanePlotProps {
  label: string;
  layout: LaneLayout;
  length_ns: number;
  /** Width for the names of rows, px. */
  gutter: number;
  zoom: TimeRange | null;
  setZoom(zoom: TimeRange | null): void;
  /** Opens a rank at an instant. */
  open(row: number, at: number): void;
  /** Paints the rows; `of` lists the inputs. */
  paint(pen: Pen, painted: Painted): void;
  of: readonly unknown[];
  tip(place: LanePlace): TipContent;
  /** Returns what is drawn over the rows. */
  over(place: LanePlace | null, time: TimeScale): ComponentChildren;
}

const AXIS_PX = 22;

export function LanePlot(props: LanePlotProps) {
  return <Sized height={props.layout.height + AXIS_PX}>{(width) => <Plot {...props} width={width} />}</Sized>;
}

function Plot({
  label,
  layout,
  length_ns,
  gutter,
  zoom,
  setZoom,
  open,
  paint,
  of,
  tip,
  over,
  width,
}: LanePlotProps & { width: number }) {
  const palette = usePalette();
  const [place, point] = useState<LanePlace | null>(null);
  const whole = { from: 0, to: length_ns };
  const zoomed = useTimeZoom({
    whole,
    zoom,
    setZoom,
    left: gutter,
    width,
    hover(at, event) {
      const row = at === null ? null : rowAt(layout, pointerY(event as PointerEvent));
      point(at === null || row === null ? null : { row, at });
    },
    press(at, event) {
      const row = rowAt(layout, pointerY(event));
      if (row !== null) open(row, at);
    },
  });
  const { visible, time } = zoomed;
  const type = (key: string) => {
    const now = place ?? { row: 0, at: middleOf(visible) };
    const turn = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (turn === undefined)
      return zoomed.typed(key, now.at, {
        move: (at) => point(at === null ? null : { ...now, at }),
        choose: (at) => open(now.row, at),
      });
    point({ ...now, row: Math.max(0, Math.min(layout.tops.length - 1, now.row + turn)) });
    return true;
  };
  return (
    <div class="rank-lanes">
      <div style={{ position: "absolute", left: 0, top: 0 }}>
        <Sheet
          width={width}
          height={layout.height}
          paint={(pen) => paint(pen, { layout, time, palette, width })}
          of={[...of, layout, visible.from, visible.to, width, palette]}
        />
      </div>
      <ZoomedPicture
        label={label}
        class="lanes"
        {...{ whole, zoomed, width, type }}
        at={place?.at ?? null}
        content={place && tip(place)}
        left={gutter}
        top={place ? layout.tops[place.row]! : 0}
        hereTop={0}
        bandTop={0}
        height={layout.height}
        scale={scaleFor(lengthOf(visible), "ns")}
      >
        {over(place, time)}
      </ZoomedPicture>
    </div>
  );
}
