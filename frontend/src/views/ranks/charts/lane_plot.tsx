/**
 * Rows of ranks against time: zooming, pointing, keys and opening are the same, whatever is drawn in the rows. Where
 * the rows are, and where the path that decides the step runs below them:
 *
 *     up to 16 ranks    22 px each, with room for the path between them
 *     more              as high as there is room for; rows that decide the step keep 22 px and their names
 */

import { bisectRight } from "d3-array";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type Pen, Sheet } from "../../../charts/canvas/canvas";
import { type Palette, usePalette } from "../../../charts/canvas/palette";
import { pointerY } from "../../../charts/pointer/pointing";
import type { TipContent } from "../../../charts/pointer/tip";
import { useTimeZoom } from "../../../charts/pointer/zoom";
import { ZoomedPicture } from "../../../charts/time/zoomed_picture";
import { sized } from "../../../dom/size";
import { scaleFor } from "../../../format";
import { lengthOf, middleOf, type TimeRange, type TimeScale } from "../../../time_range";

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

export interface LanePlotProps {
  label: string;
  layout: LaneLayout;
  length_ns: number;
  /** Width for the names of rows, px. */
  gutter: number;
  zoom: TimeRange | null;
  setZoom(zoom: TimeRange | null): void;
  open(row: number, at: number): void;
  /** Paints the rows; `of` lists the inputs. */
  paint(pen: Pen, painted: Painted): void;
  of: readonly unknown[];
  tip(place: LanePlace): TipContent;
  over(place: LanePlace | null, time: TimeScale): ComponentChildren;
}

const AXIS_PX = 22;

export const LanePlot = sized<LanePlotProps>(Plot, ({ layout }) => layout.height + AXIS_PX);

function Plot(props: LanePlotProps & { width: number }) {
  const { label, layout, length_ns, gutter, zoom, setZoom, open, paint, of, tip, over, width } = props;
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

export interface LaneLayout {
  tops: readonly number[];
  heights: readonly number[];
  height: number;
}

const TALL_PX = 22;
const GAP_PX = 12;
/** Up to this many rows are all tall. */
const FEW = 16;
/** The height that the other rows may take together, and the least and most height of each. */
const ROOM_PX = 320;
const LEAST_PX = 2;
const MOST_PX = 8;
/** This many deciding rows keep their height; if there were more, none would stand out. */
const MOST_TALL = 6;

/** deciding: the rows that decide the step, ordered by how much of it they decide, most first. */
export function laneLayout(rows: number, deciding: readonly number[]): LaneLayout {
  const tall = new Set(deciding.slice(0, MOST_TALL));
  const low = Math.max(LEAST_PX, Math.min(MOST_PX, Math.floor(ROOM_PX / rows)));
  const tops: number[] = [];
  const heights: number[] = [];
  let y = 0;
  for (let row = 0; row < rows; row++) {
    const isTall = rows <= FEW || tall.has(row);
    tops.push(y);
    heights.push(isTall ? TALL_PX : low);
    y += isTall ? TALL_PX + GAP_PX : low;
  }
  return { tops, heights, height: y };
}

/** The row at a distance in px from the top; in a gap the row above it. */
const rowAt = ({ tops, height }: LaneLayout, y: number): number | null =>
  y < 0 || y >= height ? null : bisectRight(tops, y) - 1;

export const isTall = ({ heights }: LaneLayout, row: number): boolean => heights[row] === TALL_PX;

/** The y position of the path: below its row. */
export const pathY = ({ tops, heights }: LaneLayout, row: number): number => tops[row]! + heights[row]! + 3.5;

/** The height that a name needs. Of low rows every n-th has a name, unless a tall row needs the room. */
const NAME_PX = 14;

export function RowNames({ layout, nameOf }: { layout: LaneLayout; nameOf(row: number): string }) {
  const tall = layout.tops.filter((_, row) => isTall(layout, row));
  let free = 0;
  return (
    <>
      {layout.tops.map((top, row) => {
        if (top < free || tall.some((other) => other > top && other < top + NAME_PX)) return null;
        free = top + NAME_PX;
        return (
          <text key={row} class="small own" x="0" y={top + Math.max(layout.heights[row]!, 8) / 2 + 4}>
            {nameOf(row)}
          </text>
        );
      })}
    </>
  );
}

/** How much a rank's Timeline shows around the instant from which it was opened, as a share of the picture. */
const AROUND = 0.05;

export function seenAround(middle: number, zoom: TimeRange | null, length_ns: number): TimeRange {
  const around = AROUND * (zoom ? lengthOf(zoom) : length_ns);
  return { from: Math.round(middle - around), to: Math.round(middle + around) };
}

export const WholeStep = ({ zoom, setZoom }: { zoom: TimeRange | null; setZoom(zoom: null): void }) =>
  zoom && (
    <button class="link" onClick={() => setZoom(null)}>
      Show the whole step
    </button>
  );
