/** One step in lanes: what ran when, what launched it, and what it waited for. */

import { useMemo, useRef, useState } from "preact/hooks";
import type { Address } from "../../address/keys";
import type { EventLink } from "../../api.gen";
import { usePalette } from "../../charts/canvas/palette";
import { useHidden } from "../../components/keys";
import { Picture } from "../../components/picture";
import type { Size } from "../../dom/size";
import { count, scaleFor } from "../../format";
import { around, middleOf, showing, type TimeRange, timeScale, withNeighbours, zoomed } from "../../time_range";
import type { SpanViewProps, Tab } from "../props";
import { type Box, coloursOf } from "./data/boxes";
import { useBusy } from "./data/busy";
import { readyDetail, useDetail } from "./data/detail";
import { matcherOf, useFound } from "./data/found";
import { usePages } from "./data/loading";
import { layers as layersOf } from "./data/pages";
import { rangeOf } from "./data/steps";
import type { Actions } from "./input/commands";
import { layoutOf } from "./layout";
import { TracksAndLegend } from "./legend";
import { Minimap } from "./minimap";
import { heldText, IfHeld, Notice, openingStep } from "./notice";
import { Panel } from "./panel";
import { GUTTER_PX } from "./scene";
import { Frames, Search } from "./search";
import { stepTitle, tableOf, visibleText, whyStep } from "./spoken";
import { Stage } from "./stage";
import { StepLine, stepEntries, type WantedStep } from "./step_line";
import { RangeLine, StepTools } from "./tools";
import { choicesOf, type TrackChoices, turnedKeys } from "./tracks";
import { useShownOnce, useVisibleRange } from "./visible";

/** Another span is another picture: nothing of the last one is kept. */
export function Timeline(props: SpanViewProps<"timeline">) {
  return <Opened key={props.page.head.id} {...props} />;
}

function Opened({ page, tab }: SpanViewProps<"timeline">) {
  const { result, head } = page;
  const held = useMemo(() => tab.events.held?.(head.id) ?? null, [tab.events, head.id]);
  const opening = openingStep(page.shown_step, held);
  const { whole, visible, setVisible, step, at, reset, goTo } = useVisibleRange(result, tab, opening);
  const scroller = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const filterField = useRef<HTMLInputElement>(null);
  const [size, resize] = useState<Size>({ width: 0, height: 0 });
  const palette = usePalette();
  const folded = tab.state.frames !== "all";
  const loaded = usePages(
    tab.events,
    head.id,
    visible,
    Math.max(0, size.width - GUTTER_PX),
    held ? rangeOf(held) : whole,
    folded,
  );
  const event = tab.state.event ?? null;
  const asked = useDetail(tab.events, head.id, event, folded);
  const chosen = readyDetail(asked);
  const [pointed, point] = useState<Box | null>(null);
  const [together, setTogether] = useState(1);
  const words = tab.state.find ?? "";
  const [searched, within] = useState<number | null>(null);
  const [headOf, focusHead] = useState<number | null>(null);
  const [wanted, want] = useState<WantedStep | null>(null);

  const { range, measure } = useMeasuring(tab);
  const busy = useBusy(tab.events, head.id, outward(whole), OVERVIEW_BINS);

  const time = timeScale(visible, GUTTER_PX, size.width);
  const layers = useMemo(
    () => layersOf(loaded.pages, visible, time.ns_per_px),
    [loaded.pages, visible, time.ns_per_px],
  );
  const hasQueue = loaded.pages.some(({ boxes }) => boxes.queue !== null);
  const choices = useChoices(tab.state);
  const layout = useMemo(
    () => layoutOf(loaded.tracks, hasQueue, choices, size.height),
    [loaded.tracks, hasQueue, choices, size.height],
  );
  const colours = useMemo(() => coloursOf(loaded.pages), [loaded.pages]);
  const [off, dim] = useHidden();
  const matches = useMemo(() => matcherOf(words), [words]);
  useShownOnce(chosen && { from: chosen.start_ns, to: chosen.end_ns }, event, (range) =>
    setVisible((before) => showing(before, range, whole)),
  );

  const zoom = (factor: number) => setVisible((before) => zoomed(before, middleOf(before), factor, whole));
  const choose = (number: number | null, of: number) => {
    setTogether(of);
    tab.update({ event: number });
  };
  const go = (link: EventLink) => {
    setTogether(1);
    tab.update({ event: link.event, ...(link.row < 0 ? { frames: "all" } : {}) });
    setVisible((before) => showing(before, { from: link.start_ns, to: link.end_ns }, whole));
  };
  const found = useFound(
    tab.events,
    head.id,
    { words, track: searched, folded },
    { event, start_ns: chosen?.event === event ? chosen.start_ns : visible.from },
    ({ event, row, from, to }) => {
      setTogether(1);
      tab.update({ event, ...(row < 0 ? { frames: "all" } : {}) });
      setVisible((before) => showing(before, { from, to }, whole));
    },
  );
  const hits = useMemo(
    () => found.page && { from: found.page.bins_from_ns, to: found.page.bins_to_ns, counts: found.page.bins },
    [found.page],
  );
  const write = (words: string) => {
    within(null);
    tab.update({ find: words || null });
  };
  const findNext = (event: KeyboardEvent) => {
    if (event.key !== "F3" || event.defaultPrevented) return;
    event.preventDefault();
    if (words.trim() === "") field.current?.focus();
    else found.next(event.shiftKey);
  };
  const actions: Actions = {
    setVisible,
    measure,
    point,
    reset,
    choose: (box) => choose(box?.event ?? null, box?.count ?? 1),
    focusHead,
    fold: (track) => tab.update(turnedKeys(choices, "folds", track)),
    pin: (track) => tab.update(turnedKeys(choices, "pins", track)),
    step: (by) => at !== null && goTo(at + by),
    find: () => field.current?.focus(),
    filter: () => filterField.current?.focus(),
  };
  const scale = scaleFor(Math.max(Math.abs(visible.from - step.start_ns), Math.abs(visible.to - step.start_ns)), "ns");
  return (
    <div class={event === null ? "view" : "view opened"} data-view="timeline" onKeyDown={findNext}>
      <Picture
        title={stepTitle(step)}
        sub={[whyStep(result, step, isAsked(tab.state), opening), visibleText(step, visible), held && heldText(held)]
          .filter(Boolean)
          .join(" · ")}
        name={`${head.run} ${head.worker} span ${head.number} timeline`}
        table={() => tableOf(layers, layout, step)}
        entries={
          at === null || head.steps_by === "recording" || tab.written_ms !== undefined
            ? []
            : stepEntries(step.name, want)
        }
        tools={
          <>
            <StepTools at={at} count={result.steps.length} goTo={goTo} zoom={zoom} reset={reset} />
            <Search
              field={field}
              words={words}
              inReport={held !== null}
              found={found}
              tracks={loaded.tracks}
              track={searched}
              write={write}
              within={within}
              leave={() => scroller.current?.focus()}
            />
          </>
        }
      >
        <Minimap
          width={size.width}
          whole={whole}
          visible={visible}
          setVisible={setVisible}
          steps={result.steps}
          step={step}
          busy={busy}
          palette={palette}
          range={range}
          hits={hits}
        />
        <TracksAndLegend
          field={filterField}
          filter={choices.filter}
          write={(words) => tab.update({ tracks: words === "" ? null : words })}
          leave={() => scroller.current?.focus()}
          shown={layout.tracks.size}
          all={loaded.tracks.length}
          colours={colours}
          off={off}
          dim={dim}
          matrixUnits={tab.meanings.viewTitle("tensor_cores").toLowerCase()}
        >
          {(!folded || loaded.tracks.some((track) => track.all_rows > track.rows)) && (
            <Frames all={!folded} choose={(all) => tab.update({ frames: all ? "all" : null })} />
          )}
        </TracksAndLegend>
        <div class="staged">
          <Stage
            label={
              `${stepTitle(step)}: ${count(layout.tracks.size)} tracks of events over time, ` +
              `${visibleText(step, visible)}. Arrow keys go from event to event.`
            }
            shown={{
              visible,
              time,
              layout,
              layers,
              palette,
              steps: result.steps,
              step,
              scale,
              matches,
              off,
              pointed,
              head: headOf,
              chosen,
              range,
            }}
            whole={whole}
            size={size}
            resize={resize}
            scroller={scroller}
            actions={actions}
          />
          <IfHeld {...{ held, visible, goTo }} steps={result.steps}>
            <Notice {...loaded} />
          </IfHeld>
        </div>
      </Picture>
      <Panel
        asked={asked}
        above={
          (wanted || range) && (
            <>
              {wanted && (
                <StepLine
                  key={wanted.pressed_ms}
                  events={tab.events}
                  span={head.id}
                  wanted={wanted}
                  recording={`${head.run} ${head.worker} span ${head.number}`}
                  close={() => want(null)}
                />
              )}
              {range && (
                <RangeLine
                  events={tab.events}
                  span={head.id}
                  range={range}
                  steps={result.steps}
                  zoom={() => setVisible(withNeighbours(range, whole))}
                  clear={() => measure(null)}
                />
              )}
            </>
          )
        }
        together={together}
        steps={result.steps}
        first_ns={whole.from}
        go={go}
        unfold={() => tab.update({ frames: "all" })}
        close={() => {
          choose(null, 1);
          scroller.current?.focus();
        }}
        zoom={() => chosen && setVisible(around({ from: chosen.start_ns, to: chosen.end_ns }, whole))}
      />
    </div>
  );
}

/** Whether the address says what to show. */
const isAsked = ({ step, zoom, event }: Address): boolean => [step, zoom, event].some((each) => each !== undefined);

/** As fine as a wide screen shows it. */
const OVERVIEW_BINS = 1024;

/** Both ends on whole nanoseconds. */
const outward = ({ from, to }: TimeRange): TimeRange => ({ from: Math.floor(from), to: Math.ceil(to) });

/** The same object while the address says the same, so that nothing is laid out anew. */
function useChoices(state: Address): TrackChoices {
  const { folds, pins, filter } = choicesOf(state);
  const key = JSON.stringify([[...folds], [...pins], filter]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says it all
  return useMemo(() => ({ folds, pins, filter }), [key]);
}

/** Which range is measured: kept in the address, but for while the pointer still draws it. */
interface Measuring {
  range: TimeRange | null;
  measure: Actions["measure"];
}

function useMeasuring({ state, update }: Tab): Measuring {
  const [held, hold] = useState<TimeRange | null>(null);
  const { from, to } = held ?? state.range ?? {};
  const range = useMemo(() => (from === undefined || to === undefined ? null : { from, to }), [from, to]);
  const measure = (next: TimeRange | null, drawing = false) => {
    hold(drawing ? next : null);
    if (!drawing) update({ range: next });
  };
  return { range, measure };
}
