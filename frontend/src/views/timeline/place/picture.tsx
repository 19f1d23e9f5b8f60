/**
 * A place of the Timeline in a card, drawn by the Timeline's own painter: what the host did, what it launched, what the
 * device waited for, and below it the source line. Names of tracks are beside it where the card is wide enough.
 */

import { useMemo, useRef, useState } from "preact/hooks";
import { rangeInTimeline } from "../../../address/selection";
import type { EventDetail, Evidence, Track } from "../../../api.gen";
import { type Pen, plated, Sheet, stripes } from "../../../charts/canvas/canvas";
import { usePalette } from "../../../charts/canvas/palette";
import { lineName } from "../../../code_line";
import { Details } from "../../../components/sentence";
import { Late } from "../../../components/waiting";
import { type Size, useSize } from "../../../dom/size";
import { textWidth } from "../../../dom/text_width";
import { ns, scaleFor } from "../../../format";
import { sentence } from "../../../phrase";
import { lengthOf, type TimeRange, timeScale } from "../../../time_range";
import type { Tab } from "../../props";
import { type Boxes, inSight, rowKey } from "../data/boxes";
import { readyDetail, SOURCE_LINES, useDetail } from "../data/detail";
import { layers as layersOf, usePages } from "../data/pages";
import { boxHeight, layoutOf, rowTop } from "../layout";
import { groundOf, overOf, paintOver, paintScene } from "../paint/paint";
import { AXIS_PX, BOX_PX, GUTTER_PX, type Scene, topOf } from "../scene";
import { NO_CHOICES } from "../tracks";

const HEIGHT_PX = 120;

const NOBODY: Cast = { tracks: [], first_row: 0, thread: undefined, stream: undefined };

/** This much of the place's length is shown after it: a wait is understood by the work that ends it. */
const AFTER = 0.75;

const withWhatFollows = ({ from, to }: TimeRange, place: TimeRange): TimeRange => ({
  from,
  to: Math.max(to, place.to + AFTER * lengthOf(place)),
});

const NO_COLOURS: ReadonlySet<string> = new Set();

export function PlacePicture({ span, place, tab }: { span: string; place: Evidence; tab: Tab }) {
  const box = useRef<HTMLButtonElement>(null);
  const [{ width }, resize] = useState<Size>({ width: 0, height: HEIGHT_PX });
  useSize(box, resize);
  const { step, start_ns, end_ns } = place;
  const opens = useMemo(() => rangeInTimeline({ step, start_ns, end_ns }), [step, start_ns, end_ns]);
  const visible = useMemo(
    () => withWhatFollows(opens.zoom!, { from: start_ns, to: end_ns }),
    [opens, start_ns, end_ns],
  );
  const { pages, gone, ...found } = usePages(tab.source, span, visible, width, visible, true);
  const problem = found.problem ?? gone?.problem;
  const { scene, boxes, stream } = useScene(span, place, visible, width, pages, tab);
  const line = scene.chosen && sourceOf(scene.chosen);
  const text = problem
    ? `The events could not be loaded. ${problem.problem}.`
    : pages.length === 0 && "The events are being read.";
  const name = `${ns(end_ns - start_ns)} in step ${step}: open it in the Timeline`;
  return (
    <>
      <div class="place">
        <div class="names" aria-hidden="true">
          {scene.layout.places.map((each) =>
            each.kind === "track" ? (
              <span key={each.track.id} style={{ top: `${AXIS_PX + each.top}px` }}>
                {WORDS[each.track.kind] ?? each.track.group}
              </span>
            ) : null,
          )}
        </div>
        <button ref={box} aria-label={text ? `${text} ${name}` : name} onClick={() => tab.update(opens)}>
          {text ? (
            <Late>
              <span class="quiet">{text}</span>
            </Late>
          ) : (
            <span class="sheets" style={{ marginLeft: `${-GUTTER_PX}px` }}>
              <Sheet
                width={scene.width}
                height={HEIGHT_PX}
                paint={(pen) => {
                  paintScene(pen, scene);
                  if (boxes && stream) paintWaits(pen, scene, boxes, stream);
                }}
                of={[...groundOf(scene), scene.chosen]}
              />
              <Sheet
                width={scene.width}
                height={HEIGHT_PX}
                paint={(pen) => paintOver(pen, scene)}
                of={[...groundOf(scene), ...overOf(scene)]}
              />
            </span>
          )}
        </button>
      </div>
      <p class="place-line">
        {line && (
          <button
            class="link"
            data-hint={line.whole}
            onClick={() => tab.update({ view: "operators", line: line.name, mark: null })}
          >
            <code>{line.whole}</code>
          </button>
        )}
        {scene.chosen && lineName(scene.chosen.short_name) !== line?.whole && (
          <Said detail={scene.chosen} place={place} />
        )}
      </p>
    </>
  );
}

/** Short names for kinds of tracks; a device's track has the name of its group. */
const WORDS: Partial<Record<Track["kind"], string>> = { thread: "CPU", calls: "Launches", loader: "Loader" };

/**
 * The tracks of the place, where its device waits, and the chosen event: the work that fills it or ends the longest
 * wait; else what the host does there, or right after it.
 */
function useScene(
  span: string,
  { step, start_ns, end_ns }: Evidence,
  visible: { from: number; to: number },
  room: number,
  pages: Parameters<typeof layersOf>[0],
  tab: Tab,
): { scene: Scene; boxes: Boxes | undefined; stream: Track | undefined } {
  const palette = usePalette();
  const width = room + GUTTER_PX;
  const time = useMemo(() => timeScale(visible, GUTTER_PX, width), [visible, width]);
  const found = useMemo(() => layersOf(pages, visible, time.ns_per_px), [pages, visible, time]);
  const boxes = found.at(-1)?.boxes;
  const range = useMemo(() => ({ from: start_ns, to: end_ns }), [start_ns, end_ns]);
  // the axis counts from the beginning of the place
  const counted = useMemo(() => ({ name: step, start_ns, end_ns }), [step, start_ns, end_ns]);
  const cast = useMemo(() => (boxes ? castOf(boxes, range, visible) : NOBODY), [boxes, range, visible]);
  const layers = useMemo(() => found.map((layer) => ({ ...layer, boxes: fromRow(layer.boxes, cast) })), [found, cast]);
  const layout = useMemo(() => layoutOf(cast.tracks, false, NO_CHOICES), [cast]);
  const { stream, thread, first_row } = cast;
  const work = boxes && stream ? workAt(boxes, stream, range, visible) : null;
  const longest = (of: TimeRange) => (boxes && thread ? longestIn(boxes, thread, first_row, of) : null);
  const event = work ?? longest(range) ?? longest({ from: end_ns, to: visible.to });
  const detail = readyDetail(useDetail(tab.source, span, event, true));
  const chosen = useMemo(() => detail && drawnIn(cast, detail), [cast, detail]);
  const scene: Scene = {
    ...{ width, height: HEIGHT_PX, scroll: 0, visible, time, layout, layers, palette, range, chosen },
    ...{ steps: [], step: counted, scale: scaleFor(lengthOf(visible), "ns") },
    ...{ matches: null, off: NO_COLOURS, pointed: null, head: null, pointer_ns: null, band: null, brief: true },
  };
  return { scene, boxes, stream };
}

/**
 * "train.py(48): step" as "train.py:48 step", with the full path, and as tables name it; null where no stacks were
 * recorded.
 */
function sourceOf({ facts }: EventDetail): { whole: string; name: string } | null {
  const fact = facts.find(({ label }) => SOURCE_LINES.includes(label));
  if (!fact) return null;
  const name = String(fact.value.value);
  return { whole: lineName(fact.copied ?? name), name };
}

/** Which event is outlined; where the wait before it is in the place, how long the device waited, and why. */
function Said({ detail, place }: { detail: EventDetail; place: Evidence }) {
  const { short_name, gap_start_ns, start_ns, why_gap } = detail;
  const waits = gap_start_ns !== null && start_ns > place.start_ns;
  const why = why_gap ? ` ${sentence(why_gap)}` : "";
  return (
    <>
      <span class="clip">
        {waits ? "After the wait: " : "Outlined: "}
        {lineName(short_name)}
      </span>
      {waits && <Details text={`It begins after ${ns(start_ns - gap_start_ns)} of waiting.${why}`} />}
    </>
  );
}

interface Cast {
  /** From top to bottom, with as many rows as are drawn. */
  tracks: readonly Track[];
  /** The first row of the thread that is drawn. */
  first_row: number;
  thread: Track | undefined;
  stream: Track | undefined;
}

/** The number of rows in all. */
const ROWS = 4;

/**
 * Which rows of the Timeline show a place: the loader if it works there, the thread that launches, its runtime calls,
 * and the stream that is busiest there; where none works, the first one, because that it waits is what the card says.
 *
 *     loader      ====                       one row
 *     thread   [forward          ]           the rows that the others leave, from the first that no single event fills
 *               [linear][relu ]
 *     calls       -     -                    one row
 *     stream              [gemm]             one row
 *
 * place: what the card is about; visible: the same with its surroundings.
 */
export function castOf(boxes: Boxes, place: TimeRange, visible: TimeRange): Cast {
  const most = (kind: Track["kind"]): Track | undefined => {
    const found = boxes.tracks
      .filter((track) => track.kind === kind)
      .map((track) => ({ track, ns: coveredIn(boxes, track, visible) }))
      .reduce((best, each) => (each.ns > best.ns ? each : best), { track: undefined as Track | undefined, ns: 0 });
    return found.track;
  };
  const [loader, calls] = [most("loader"), most("calls")];
  const stream = most("stream") ?? boxes.tracks.find(({ kind }) => kind === "stream");
  const above = calls && boxes.tracks[boxes.tracks.indexOf(calls) - 1];
  const thread = above?.kind === "thread" ? above : most("thread");
  const first_row = thread ? firstRow(boxes, thread, place) : 0;
  const left = ROWS - [loader, calls, stream].filter(Boolean).length;
  const rows = Math.min(left, (thread?.rows ?? 0) - first_row);
  const drawn = (track: Track | undefined, rows = 1): Track[] => (track ? [{ ...track, rows, pinned: true }] : []);
  return {
    tracks: [...drawn(loader), ...drawn(thread, rows), ...drawn(calls), ...drawn(stream)],
    first_row,
    thread,
    stream,
  };
}

/** The boxes with the thread's rows counted from the first one that is drawn. */
export function fromRow(boxes: Boxes, { thread, first_row }: Pick<Cast, "thread" | "first_row">): Boxes {
  if (!thread || first_row === 0) return boxes;
  const rows = new Map(boxes.rows);
  for (let row = 0; row < thread.rows; row++) {
    const shown = boxes.rows.get(rowKey(thread.id, row + first_row));
    if (shown) rows.set(rowKey(thread.id, row), shown);
    else rows.delete(rowKey(thread.id, row));
  }
  return { ...boxes, rows };
}

export const drawnIn = ({ thread, first_row }: Pick<Cast, "thread" | "first_row">, event: EventDetail): EventDetail =>
  event.track === thread?.id ? { ...event, row: event.row - first_row } : event;

/**
 * The work that fills the place, else the one that ends the longest wait of a stream within it; null where the stream
 * does not wait there, or where the work is out of sight. A wait beside the place is another one, with another cause.
 */
export function workAt(boxes: Boxes, stream: Track, place: TimeRange, visible: TimeRange): number | null {
  const { first, end } = inSight(boxes, boxes.rows.get(rowKey(stream.id, 0)), visible);
  let [longest, event, until]: [number, number | null, number] = [0, null, visible.from];
  for (let at = first; at < end; at++) {
    if (boxes.from[at]! <= place.from && boxes.to[at]! >= place.to) return boxes.event[at]!;
    const wait = Math.min(boxes.from[at]!, place.to) - Math.max(until, place.from);
    if (wait > longest) [longest, event] = [wait, boxes.event[at]!];
    until = Math.max(until, boxes.to[at]!);
  }
  return event;
}

function longestIn(boxes: Boxes, track: Track, row: number, visible: TimeRange): number | null {
  const { first, end } = inSight(boxes, boxes.rows.get(rowKey(track.id, row)), visible);
  let [longest, event]: [number, number | null] = [0, null];
  for (let at = first; at < end; at++) {
    const length = cut(boxes, at, visible);
    if (length > longest) [longest, event] = [length, boxes.event[at]!];
  }
  return event;
}

function coveredIn(boxes: Boxes, track: Track, visible: TimeRange): number {
  const { first, end } = inSight(boxes, boxes.rows.get(rowKey(track.id, 0)), visible);
  let covered = 0;
  for (let at = first; at < end; at++) covered += cut(boxes, at, visible);
  return covered;
}

/** The visible part of a box, ns. */
const cut = ({ from, to }: Boxes, at: number, visible: TimeRange): number =>
  Math.max(0, Math.min(to[at]!, visible.to) - Math.max(from[at]!, visible.from));

/**
 * The first row that a single event does not fill: what is open all the time, such as the step or the loop, says
 * nothing about the place. Where all rows are filled, the innermost.
 */
function firstRow(boxes: Boxes, thread: Track, place: TimeRange): number {
  for (let row = 0; row < thread.rows; row++) {
    const { first, end } = inSight(boxes, boxes.rows.get(rowKey(thread.id, row)), place);
    if (end === first) return Math.max(0, row - 1);
    if (end - first !== 1 || cut(boxes, first, place) < lengthOf(place)) return row;
  }
  return Math.max(0, thread.rows - 1);
}

/** A narrower wait is not hatched: its stripes would look like a piece of work. */
const LEAST_PX = 3;

/** The space on both sides of a length. */
const BESIDE_PX = 4;

/** The waits of a stream that begin and end in sight. */
export function waitsOf(boxes: Boxes, stream: Track, visible: TimeRange): TimeRange[] {
  const waits: TimeRange[] = [];
  const { first, end } = inSight(boxes, boxes.rows.get(rowKey(stream.id, 0)), visible);
  let until = boxes.to[first] ?? 0;
  for (let at = first + 1; at < end; at++) {
    if (boxes.from[at]! > until) waits.push({ from: until, to: boxes.from[at]! });
    until = Math.max(until, boxes.to[at]!);
  }
  return waits;
}

/**
 * Paints when the device waits, hatched between one piece of work and the next, with lengths where there is room; and
 * up to the edges of the picture the time for which it shows no work.
 *
 *     stream  [gemm]////22 µs////[relu]///53 µs///[gemm]
 */
function paintWaits(pen: Pen, scene: Scene, boxes: Boxes, stream: Track): void {
  const top = rowTop(scene.layout, stream.id, 0);
  if (top === null) return;
  const { palette, time, visible } = scene;
  const y = topOf(scene, { top });
  const tall = boxHeight(scene.layout.tracks.get(stream.id)!.row_px);
  const hatch = stripes(pen, palette.third);
  pen.font = palette.fonts.axis;
  pen.textBaseline = "middle";
  const within = waitsOf(boxes, stream, visible);
  for (const { from, to } of [...within, ...atEdges(boxes, stream, visible)]) {
    const [left, right] = [time.clampedX(from), time.clampedX(to)];
    if (right - left < LEAST_PX) continue;
    pen.fillStyle = hatch;
    pen.fillRect(left, y, right - left, tall);
  }
  for (const { from, to } of within) {
    if (to === scene.chosen?.start_ns) continue; // the wait before the chosen work is told of with its reason
    const [left, right] = [time.clampedX(from), time.clampedX(to)];
    const length = ns(to - from);
    const wide = textWidth(length);
    if (wide + 2 * BESIDE_PX > right - left) continue;
    plated(pen, length, (left + right - wide) / 2, y + BOX_PX / 2, palette.ink, palette.surface);
  }
}

/** Before the first piece of work in sight and after the last one; all of the picture where there is none. */
function atEdges(boxes: Boxes, stream: Track, visible: TimeRange): TimeRange[] {
  const { first, end } = inSight(boxes, boxes.rows.get(rowKey(stream.id, 0)), visible);
  if (first === end) return [visible];
  const last = boxes.to.slice(first, end).reduce((latest, to) => Math.max(latest, to));
  return [
    { from: visible.from, to: boxes.from[first]! },
    { from: last, to: visible.to },
  ];
}
