/**
 * A place of the Timeline in a card, drawn by the Timeline's own painter: what the host did, what it launched, what the
 * device waited for, and below it the source line. Names of tracks are beside it where the card is wide enough.
 */

import { useMemo, useRef, useState } from "preact/hooks";
import { rangeInTimeline } from "../../../address/selection";
import type { EventDetail, Evidence, Track } from "../../../api.gen";
import { Sheet } from "../../../charts/canvas/canvas";
import { usePalette } from "../../../charts/canvas/palette";
import { Details } from "../../../components/sentence";
import { Late } from "../../../components/waiting";
import { type Size, useSize } from "../../../dom/size";
import { ns, scaleFor } from "../../../format";
import { sentence } from "../../../phrase";
import { lengthOf, type TimeRange, timeScale } from "../../../time_range";
import type { Tab } from "../../props";
import type { Boxes } from "../data/boxes";
import { readyDetail, SOURCE_LINES, useDetail } from "../data/detail";
import { layers as layersOf, usePages } from "../data/pages";
import { layoutOf } from "../layout";
import { groundOf, overOf, paintOver, paintScene } from "../paint/paint";
import { AXIS_PX, GUTTER_PX, type Scene } from "../scene";
import { NO_CHOICES } from "../tracks";
import { type Cast, castOf, drawnIn, fromRow, longestIn, paintWaits, workAfterWait } from "./cast";

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
        {scene.chosen && wholeLine(scene.chosen.short_name) !== line?.whole && <Said detail={scene.chosen} />}
      </p>
    </>
  );
}

/** Short names for kinds of tracks; a device's track has the name of its group. */
const WORDS: Partial<Record<Track["kind"], string>> = { thread: "CPU", calls: "Launches", loader: "Loader" };

/**
 * The tracks of the place, where its device waits, and the chosen event: the work that ends the longest wait; else what
 * the host does there, or right after it.
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
  const work = boxes && stream ? workAfterWait(boxes, stream, range, visible) : null;
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
  return { whole: wholeLine(fact.copied ?? name), name };
}

const wholeLine = (frame: string): string => frame.replace(/^(.+)\((\d+)\): (.*)$/, "$1:$2 $3");

/** Which event is framed, how long the device waited for it, and why, for who asks. */
function Said({ detail: { short_name, gap_start_ns, start_ns, why_gap } }: { detail: EventDetail }) {
  const why = why_gap ? ` ${sentence(why_gap)}` : "";
  return (
    <>
      <span class="clip">
        {gap_start_ns === null ? "Framed: " : "After the wait: "}
        {short_name}
      </span>
      {gap_start_ns !== null && <Details text={`It begins after ${ns(start_ns - gap_start_ns)} of waiting.${why}`} />}
    </>
  );
}
