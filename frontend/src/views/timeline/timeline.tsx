/** One step in lanes: what ran when, what launched it, and what it waited for. */

import { useMemo, useRef, useState } from "preact/hooks";
import type { Address } from "../../address/keys";
import { recordingOf } from "../../components/about";
import { Picture } from "../../components/picture";
import { count } from "../../format";
import { around, middleOf, outward, rangeOf, type TimeRange, withNeighbours, zoomed } from "../../time_range";
import type { SpanViewProps, Tab } from "../props";
import type { Box } from "./data/boxes";
import { useBusy } from "./data/busy";
import type { Actions } from "./input/commands";
import { Minimap } from "./minimap";
import { heldText, IfHeld, Notice } from "./notice";
import { Panel } from "./panel";
import { Frames, Search } from "./search";
import { stepTitle, tableOf, visibleText, whyStep } from "./spoken";
import { Stage } from "./stage";
import { useChosenEvent, useNameSearch, usePicture } from "./state";
import { StepLine, stepEntries, type WantedStep } from "./step_line";
import { RangeLine, StepTools, TracksAndLegend } from "./tools";
import { turnedKeys } from "./tracks";

/** Another span gets a new picture: no state of the previous one is kept. */
export function Timeline(props: SpanViewProps<"timeline">) {
  return <Opened key={props.page.head.id} {...props} />;
}

function Opened({ page, tab }: SpanViewProps<"timeline">) {
  const { result, head } = page;
  const picture = usePicture(page, tab);
  const { whole, visible, setVisible, step, at, reset, goTo, size, held, loaded, drawn } = picture;
  const selection = useChosenEvent(head.id, tab, picture);
  const { event, chosen, choose } = selection;
  const search = useNameSearch(head.id, tab, picture, selection);
  const scroller = useRef<HTMLDivElement>(null);
  const filterField = useRef<HTMLInputElement>(null);
  const [pointed, point] = useState<Box | null>(null);
  const [headOf, focusHead] = useState<number | null>(null);
  const [wanted, want] = useState<WantedStep | null>(null);
  const { range, measure } = useMeasuring(tab);
  const busy = useBusy(tab.source, head.id, outward(whole), OVERVIEW_BINS);
  const zoom = (factor: number) => setVisible((before) => zoomed(before, middleOf(before), factor, whole));
  const leave = () => scroller.current?.focus();
  const actions: Actions = {
    setVisible,
    measure,
    point,
    reset,
    choose: (box) => choose(box?.event ?? null, box?.count ?? 1),
    focusHead,
    fold: (track) => tab.update(turnedKeys(picture.choices, "folds", track)),
    pin: (track) => tab.update(turnedKeys(picture.choices, "pins", track)),
    step: (by) => at !== null && goTo(at + by),
    find: () => search.field.current?.focus(),
    filter: () => filterField.current?.focus(),
  };
  return (
    <div class={event === null ? "view" : "view opened"} data-view="timeline" onKeyDown={search.findNext}>
      <Picture
        title={stepTitle(step, head)}
        sub={[
          whyStep(result, step, isAsked(tab.state), picture.opening),
          visibleText(step, visible),
          held && heldText(held),
        ]
          .filter(Boolean)
          .join(" · ")}
        name={`${recordingOf(head)} timeline`}
        table={() => tableOf(drawn.layers, drawn.layout, step)}
        entries={
          at === null || head.steps_by === "recording" || tab.written_ms !== undefined
            ? []
            : stepEntries(step.name, want)
        }
        tools={
          <>
            <StepTools
              at={at}
              count={head.steps_by === "recording" ? 0 : result.steps.length}
              goTo={goTo}
              zoom={zoom}
              reset={reset}
            />
            <Search {...search} inReport={held !== null} tracks={loaded.tracks} leave={leave} />
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
          request={busy}
          says={loaded.pages.length > 0}
          palette={drawn.palette}
          range={range}
          hits={search.hits}
        />
        <TracksAndLegend
          field={filterField}
          filter={picture.choices.filter}
          write={(text) => tab.update({ tracks: text === "" ? null : text })}
          leave={leave}
          shown={drawn.layout.tracks.size}
          all={loaded.tracks.length}
          colours={picture.colours}
          off={drawn.off}
          dim={picture.dim}
          matrixUnits={tab.meanings.viewTitle("tensor_cores").toLowerCase()}
        >
          {(!picture.folded || loaded.tracks.some((track) => track.all_rows > track.rows)) && (
            <Frames all={!picture.folded} choose={(all) => tab.update({ frames: all ? "all" : null })} />
          )}
        </TracksAndLegend>
        <div class="staged">
          <Stage
            label={
              `${stepTitle(step, head)}: ${count(drawn.layout.tracks.size)} tracks of events over time, ` +
              `${visibleText(step, visible) || "all visible"}. Arrow keys go from event to event.`
            }
            shown={{
              ...drawn,
              steps: result.steps,
              matches: search.matches,
              pointed,
              head: headOf,
              chosen,
              range,
            }}
            whole={whole}
            size={size}
            resize={picture.resize}
            scroller={scroller}
            actions={actions}
          />
          <IfHeld {...{ held, visible, goTo }} steps={result.steps}>
            <Notice {...loaded} />
          </IfHeld>
        </div>
      </Picture>
      <Panel
        request={selection.asked}
        above={
          (wanted || range) && (
            <>
              {wanted && (
                <StepLine
                  key={wanted.pressed_ms}
                  events={tab.source}
                  span={head.id}
                  wanted={wanted}
                  recording={recordingOf(head)}
                  close={() => want(null)}
                />
              )}
              {range && (
                <RangeLine
                  events={tab.source}
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
        together={selection.together}
        steps={result.steps}
        first_ns={whole.from}
        go={selection.go}
        unfold={() => tab.update({ frames: "all" })}
        openLine={(line) => tab.update({ view: "operators", line, mark: null })}
        close={() => {
          choose(null, 1);
          leave();
        }}
        zoom={() => chosen && setVisible(around(rangeOf(chosen), whole))}
      />
    </div>
  );
}

const isAsked = ({ step, zoom, event }: Address): boolean => [step, zoom, event].some((each) => each !== undefined);

/** As many bins as a wide screen can show. */
const OVERVIEW_BINS = 1024;

/** The measured range: kept in the address, except while the pointer is still drawing it. */
interface Measuring {
  range: TimeRange | null;
  measure: Actions["measure"];
}

function useMeasuring({ state, update }: Tab): Measuring {
  const [measured, hold] = useState<TimeRange | null>(null);
  const { from, to } = measured ?? state.range ?? {};
  const range = useMemo(() => (from === undefined || to === undefined ? null : { from, to }), [from, to]);
  const measure = (next: TimeRange | null, drawing = false) => {
    hold(drawing ? next : null);
    if (!drawing) update({ range: next });
  };
  return { range, measure };
}
