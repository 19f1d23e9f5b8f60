/** The overview above the picture: the whole recording, and which part of it is visible. */

import { useRef, useState } from "preact/hooks";
import type { BusyBins, TimelineStep } from "../../api.gen";
import { type Pen, Sheet } from "../../charts/canvas/canvas";
import type { Palette } from "../../charts/canvas/palette";
import { pointerX } from "../../charts/pointer/pointing";
import { useDrag } from "../../charts/pointer/zoom";
import { NotYet } from "../../components/waiting";
import { hint } from "../../dom/hint";
import { ns } from "../../format";
import type { Requested } from "../../server/requested";
import {
  lengthOf,
  middleOf,
  panned,
  rangeOf,
  type TimeRange,
  type TimeScale,
  timeScale,
  within,
  zoomed,
} from "../../time_range";
import { binsOf } from "./data/busy";
import { stepsText } from "./range";
import { GUTTER_PX } from "./scene";

interface MinimapProps {
  /** The width of the picture below, px: the two share their left and right edges. */
  width: number;
  whole: TimeRange;
  visible: TimeRange;
  setVisible(visible: TimeRange): void;
  steps: readonly TimelineStep[];
  step: TimelineStep;
  request: Requested<BusyBins>;
  /** Whether it says why it is empty; without events the picture below does. */
  says: boolean;
  palette: Palette;
  range: TimeRange | null;
  /** Where a search found events. */
  hits?: Hits | null;
}

const MEANING = [
  "The whole recording: of each moment, the share in which the GPU worked on any stream, a mean of several GPUs.",
  "Without a GPU, the share in which the host ran an op.",
  "Drag the window or its edges to move the picture below, drag beside it for a new window, double click for all.",
  "Keys: arrows move it, with Shift they resize it, + and - zoom, Home and End go to its ends, 0 shows all.",
].join(" ");

const WHOSE = { gpu: "GPU busy", host: "Host in ops" } as const;

/** A window narrower than this is drawn this wide. */
const LEAST_PX = 6;

const CURSORS: Readonly<Record<Grip, string>> = { from: "ew-resize", to: "ew-resize", move: "grab", new: "crosshair" };

interface Held {
  grip: Grip;
  window: TimeRange;
  start: number;
}

export function Minimap(props: MinimapProps) {
  const { whole, visible, setVisible, request, steps } = props;
  const busy = request.page;
  const width = Math.max(0, props.width - GUTTER_PX);
  const time = timeScale(whole, 0, width);
  const pane = placeOf(visible, time.x, width);
  const [grip, setGrip] = useState<Grip>("new");
  const box = useRef<HTMLDivElement>(null);
  const at = ({ clientX }: PointerEvent) => clientX - box.current!.getBoundingClientRect().left;
  const { handlers } = useDrag<Held>({
    hold: (event) => ({
      grip: gripAt(at(event), pane.left, pane.left + pane.width),
      window: visible,
      start: time.clampedNs(at(event)),
    }),
    drag: (held, event) => setVisible(draggedTo(held.grip, held.window, held.start, time.clampedNs(at(event)), whole)),
    release(held, _event, dragged) {
      if (!dragged && held.grip === "new") setVisible(centredAt(visible, held.start, whole));
    },
    cancel: () => {},
    hover: (event) => setGrip(gripAt(pointerX(event), pane.left, pane.left + pane.width)),
  });
  const type = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const next = event.key === "0" ? whole : typedWindow(event.key, event.shiftKey, visible, whole);
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    setVisible(next);
  };
  const of = [busy, props.hits, steps, props.step, props.palette, width];
  return (
    <div class="minimap">
      <span class="what small" {...hint(MEANING)}>
        {busy === null ? (
          "Recording"
        ) : (
          <>
            {WHOSE[busy.of]} <span class="faint">0–100 %</span>
          </>
        )}
      </span>
      <div
        ref={box}
        class="overview"
        role="slider"
        tabIndex={0}
        aria-label="Visible part of the recording"
        aria-valuemin={0}
        aria-valuemax={Math.round(lengthOf(whole))}
        aria-valuenow={Math.round(visible.from - whole.from)}
        aria-valuetext={`${ns(Math.round(lengthOf(visible)))} of ${ns(lengthOf(whole))}: ${stepsText(steps, visible)}`}
        style={{ width: `${width}px`, height: `${OVERVIEW_PX}px`, cursor: CURSORS[grip] }}
        onKeyDown={type}
        onDblClick={() => setVisible(whole)}
        {...handlers}
      >
        <Sheet
          width={width}
          height={OVERVIEW_PX}
          paint={(pen) => paintOverview(pen, { ...props, busy, hits: props.hits ?? null, time })}
          of={of}
        />
        {props.range && <i class="measured" style={pixels(placeOf(props.range, time.x, width))} />}
        <i class="pane" style={pixels(pane)} />
      </div>
      {busy === null && props.says && <NotYet problem={request.problem} reads="Reading how busy the recording is." />}
    </div>
  );
}

interface Pane {
  left: number;
  width: number;
}

/** The window, at least so wide that it can be seen and grabbed. */
function placeOf({ from, to }: TimeRange, x: (ns: number) => number, width: number): Pane {
  const wide = Math.min(width, Math.max(LEAST_PX, x(to) - x(from)));
  const left = (x(from) + x(to) - wide) / 2;
  return { left: Math.max(0, Math.min(width - wide, left)), width: wide };
}

const pixels = ({ left, width }: Pane) => ({ left: `${left}px`, width: `${width}px` });

/**
 * The window of the overview: the visible part of the whole recording, moved and resized by pointer and keys.
 *
 *     ......[====|====]......        from, move, to; a drag elsewhere marks a new window
 */
type Grip = "from" | "to" | "move" | "new";

/**
 * An edge can be grabbed within this distance outside the window; inside it, at most within a quarter of the window.
 */
const REACH_PX = 7;

/** The edges cannot make a window shorter than this share of the whole. */
const LEAST_SHARE = 1e-5;

/** What a press at `x` grabs; the window reaches from `left` to `right`. All in px. */
export function gripAt(x: number, left: number, right: number): Grip {
  const inside = Math.min(REACH_PX, (right - left) / 4);
  if (x < left - REACH_PX || x > right + REACH_PX) return "new";
  if (x < left + inside) return "from";
  return x > right - inside ? "to" : "move";
}

/** The window after a drag from `start` to `now`, both ns. */
export function draggedTo(grip: Grip, window: TimeRange, start: number, now: number, whole: TimeRange): TimeRange {
  const least = LEAST_SHARE * lengthOf(whole);
  switch (grip) {
    case "from":
      return { from: Math.max(whole.from, Math.min(now, window.to - least)), to: window.to };
    case "to":
      return { from: window.from, to: Math.min(whole.to, Math.max(now, window.from + least)) };
    case "move":
      return panned(window, now - start, whole);
    case "new":
      return within({ from: Math.min(start, now), to: Math.max(start, now) }, whole);
    default:
      return grip satisfies never;
  }
}

/** The window with the same length, centred at an instant. */
const centredAt = (window: TimeRange, ns: number, whole: TimeRange): TimeRange =>
  panned(window, ns - middleOf(window), whole);

/** How far one key press moves the window, as a share of its length. */
const STRIDE = 0.1;
const CLOSER = 1 / 1.3;

/**
 * Null: the key is left to the browser. With Shift the arrows move the end of the window instead of the whole window.
 */
export function typedWindow(key: string, shift: boolean, window: TimeRange, whole: TimeRange): TimeRange | null {
  const stride = STRIDE * lengthOf(window);
  const by = (ns: number) => (shift ? draggedTo("to", window, 0, window.to + ns, whole) : panned(window, ns, whole));
  switch (key) {
    case "ArrowRight":
      return by(stride);
    case "ArrowLeft":
      return by(-stride);
    case "ArrowUp":
    case "+":
      return zoomed(window, middleOf(window), CLOSER, whole);
    case "ArrowDown":
    case "-":
      return zoomed(window, middleOf(window), 1 / CLOSER, whole);
    case "PageUp":
      return panned(window, -lengthOf(window), whole);
    case "PageDown":
      return panned(window, lengthOf(window), whole);
    case "Home":
      return panned(window, whole.from - window.from, whole);
    case "End":
      return panned(window, whole.to - window.to, whole);
    default:
      return null;
  }
}

const OVERVIEW_PX = 40;

/** Height above the bars, for the hits. */
const HITS_PX = 6;

/** Height below the bars. */
const FOOT_PX = 3;

/** Steps narrower than this are not distinguished. */
const SHADED_PX = 4;

/** The hits of a search: their number in each of the bins of a range, all of the same length. */
interface Hits extends TimeRange {
  counts: readonly number[];
}

interface Overview {
  busy: BusyBins | null;
  hits: Hits | null;
  steps: readonly TimelineStep[];
  step: TimelineStep;
  time: TimeScale;
  palette: Palette;
}

/**
 * The overview of the whole recording: how busy the GPUs were, steps distinguished by shading, and search hits.
 *
 *      '  ' '''            where events were found
 *     ▁▇▇▇▁▇▇▇▁▇▇▇         busy share in each bin
 *     ────━━━━────         the step that is shown
 */
function paintOverview(pen: Pen, overview: Overview): void {
  const { time, palette } = overview;
  pen.clearRect(0, 0, time.width, OVERVIEW_PX);
  paintSteps(pen, overview);
  paintBusy(pen, overview);
  paintHits(pen, overview);
  pen.fillStyle = palette.line;
  pen.fillRect(0, OVERVIEW_PX - FOOT_PX, time.width, 1);
  pen.fillStyle = palette.ink;
  fill(pen, time, rangeOf(overview.step), OVERVIEW_PX - FOOT_PX, FOOT_PX - 1, 2);
}

function paintSteps(pen: Pen, { steps, time, palette }: Overview): void {
  pen.fillStyle = palette.sunken;
  steps.forEach(({ start_ns, end_ns }, at) => {
    const isShaded = (end_ns - start_ns) / time.ns_per_px >= SHADED_PX;
    if (!isShaded || at % 2 === 0)
      fill(pen, time, { from: start_ns, to: end_ns }, HITS_PX, OVERVIEW_PX - HITS_PX - FOOT_PX);
  });
}

function paintBusy(pen: Pen, { busy, time, palette }: Overview): void {
  if (!busy) return;
  pen.fillStyle = palette.fills.get(busy.of === "gpu" ? "kernel" : "cpu")![0]!.plain;
  for (const bin of binsOf(busy)) {
    const tall = bin.share * (OVERVIEW_PX - HITS_PX - FOOT_PX);
    fill(pen, time, bin, OVERVIEW_PX - FOOT_PX - tall, tall);
  }
}

function paintHits(pen: Pen, { hits, time, palette }: Overview): void {
  if (!hits) return;
  pen.fillStyle = palette.ink;
  const long = (hits.to - hits.from) / hits.counts.length;
  hits.counts.forEach((count, at) => {
    const from = hits.from + at * long;
    if (count > 0) fill(pen, time, { from, to: from + long }, 0, HITS_PX - 2, 2);
  });
}

/** Snaps to whole pixels, so that neighbours leave no seam. */
function fill(pen: Pen, time: TimeScale, { from, to }: TimeRange, top: number, tall: number, least_px = 1): void {
  const [left, right] = [Math.round(time.clampedX(from)), Math.round(time.clampedX(to))];
  if (tall > 0) pen.fillRect(left, top, Math.max(least_px, right - left), tall);
}
