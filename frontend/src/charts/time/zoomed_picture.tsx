/**
 * The frame of a zoomable picture over time: its keys, the instant being read, the dragged range, the axis and the tip.
 */

import type { ComponentChildren } from "preact";
import type { Scale } from "../../format";
import { type TimeRange, type TimeScale, touches } from "../../time_range";
import { TimeAxis } from "../axes";
import { type StopSelection, slider } from "../pointer/pointing";
import { Tip, type TipContent } from "../pointer/tip";
import type { TimeZoom } from "../pointer/zoom";

interface ZoomedPictureProps {
  label: string;
  class: string;
  /** The whole range that can be shown; the axis counts from its beginning. */
  whole: TimeRange;
  zoomed: TimeZoom;
  /** The instant being read, and the text about it. */
  at: number | null;
  content: TipContent | null;
  /** What the slider announces in place of the instant: one stop of several. */
  stop?: { at: number | null; of: number; content: TipContent | null };
  /** px: where the time axis begins; the upper ends of the marked instant and of the dragged range. */
  left: number;
  top: number;
  hereTop?: number;
  bandTop?: number;
  width: number;
  height: number;
  scale: Scale;
  /** Returns whether the key is one of the picture's. */
  type(key: string): boolean;
  children: ComponentChildren;
}

export function ZoomedPicture(props: ZoomedPictureProps) {
  const { label, whole, zoomed, at, content, left, top, hereTop = top, bandTop = top, width, height, scale } = props;
  const { visible, time, band, handlers } = zoomed;
  const stop = props.stop ?? { at: at === null ? null : at - whole.from, of: whole.to - whole.from, content };
  const x = at === null ? 0 : time.x(at);
  return (
    <>
      <svg
        class={`chart ${props.class} zoomable`}
        width={width}
        height={height}
        {...slider(label, stop.at, stop.of, stop.content)}
        {...handlers}
        onKeyDown={(event) => props.type(event.key) && event.preventDefault()}
      >
        <rect width={width} height={height} fill="transparent" />
        {props.children}
        {at !== null && <line class="here" x1={x} x2={x} y1={hereTop} y2={height} />}
        {band && <rect class="zoom" x={band.left} y={bandTop} width={band.width} height={height - bandTop} />}
      </svg>
      <TimeAxis from={visible.from - whole.from} to={visible.to - whole.from} left={left} width={width} scale={scale} />
      <Tip content={content} x={x} y={height + 4} width={width} above={top} />
    </>
  );
}

/** Marks closer together than this would merge into a grey band: then none are drawn. */
const MARK_PX = 4;

/** Whether so many marks of steps can be told apart in a picture of this width. */
export const hasRoom = (marks: number, width: number): boolean => marks * MARK_PX <= width;

interface StepRingsProps extends Pick<StopSelection, "hovered" | "selected"> {
  steps: readonly (TimeRange & { key: string })[];
  visible: TimeRange;
  time: TimeScale;
  top: number;
  height: number;
}

/** Rings around the steps that are hovered or selected, in this picture or another one. */
export function StepRings({ steps, hovered, selected, visible, time, top, height }: StepRingsProps) {
  const ringed = steps.filter((step) => (step.key === hovered || step.key === selected) && touches(step, visible));
  return (
    <>
      {ringed.map(({ key, from, to }) => {
        const left = time.clampedX(from);
        return (
          <rect key={key} class="ring" x={left} y={top} width={Math.max(1, time.clampedX(to) - left)} height={height} />
        );
      })}
    </>
  );
}
