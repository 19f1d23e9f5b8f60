/** Which waits for a batch cost time, why, how many workers would end them, and what the workers do meanwhile. */

import { recordingOf } from "../../components/about";
import { Code } from "../../components/copy";
import { Notes } from "../../components/note";
import { NoPicture, Section } from "../../components/picture";
import { Remark, Sentence, Words } from "../../components/sentence";
import { sentence } from "../../phrase";
import { useStepSelection } from "../choices";
import { remarkOf, type SpanViewProps } from "../props";
import { More, SeriesTiles } from "../tiles";
import { Activities, SlowLines, WorkerLines } from "./activities";
import { BatchSplit } from "./batch_split";
import { BurstPicture, showsBurst } from "./burst";
import { LoaderLanes } from "./lanes";
import { ProductionPicture, type RecordedProps } from "./production";
import { FirstBatch, type LoaderPictureProps, Loaders, OtherWaits, Receiving, Shares, StepTable } from "./waits";
import { WorkerCurvePicture } from "./worker_curve";
import { Slowest, Workers } from "./workers";

/** The reason that the headline gives, so that nothing below repeats it. */
const NO_EVENTS = "no_loader_events";

/** The reason why no number of workers is known that the recorder would end: it stands beside how to record. */
const AMBIGUOUS = "ambiguous_record_the_workers";

export function DataLoading({ page, tab, compared }: SpanViewProps<"data_loading">) {
  const { result, head } = page;
  const chosen = useStepSelection(tab);
  const name = recordingOf(head);
  const shared = { result, titles: page.titles, chosen, tab, name, compared };
  const { recorded } = result;
  const place = recorded ? null : placeOf(tab.index.places[0], head.run);
  const burst = showsBurst(result) ? result.burst : null;
  const below = recorded !== null && burst !== null; // the workers come first
  const why = result.why_unknown && tab.meanings.explain(result.why_unknown);
  const ambiguous = place !== null && result.why_unknown?.code === AMBIGUOUS;
  const waits = <Waits {...shared} />;
  const folded = burst !== null && !compared; // the picture shows the wait of each step
  return (
    <div class="view" data-view="data_loading">
      {result.tiles.length > 0 && (
        <SeriesTiles
          label="Waiting for data in this span"
          tiles={result.tiles}
          page={page}
          tab={tab}
          compared={compared}
          remark={(metric) => remarkOf(page.titles, metric)}
        />
      )}
      {!recorded && <Notes notes={page.notes} />}
      {result.unknown ? (
        <section class="unknown">
          {result.unknown.code !== NO_EVENTS && (
            <>
              <h2>
                <Sentence phrase={page.titles.steps!} />
              </h2>
              <Remark phrase={tab.meanings.explain(result.unknown)} class="quiet" />
            </>
          )}
          {place !== null && <RecordHint asks="thread" place={place} />}
        </section>
      ) : (
        <div class="split halves">
          {result.curve && <WorkerCurvePicture {...shared} curve={result.curve} />}
          {!result.curve && why && !ambiguous && <NoPicture title="How many workers are enough?" why={why} />}
          {burst && <BurstPicture {...shared} burst={burst} />}
          {!folded && waits}
          {result.loaders.length > 1 && <Loaders loaders={result.loaders} tab={tab} name={name} />}
          {!below && result.lanes && <LoaderLanes {...shared} lanes={result.lanes} />}
          {!recorded && <Batches {...shared} />}
          {!recorded && <Lines {...shared} />}
          {place !== null && (
            <RecordHint
              asks={result.multiprocess === false ? "batch" : "workers"}
              why={ambiguous && why ? `${sentence(why)} ` : ""}
              place={place}
            />
          )}
        </div>
      )}
      {recorded && <Notes notes={page.notes} />}
      {recorded && <RecordedWorkers {...shared} recorded={recorded} byReader={recorded.consumer_ns === null} />}
      {below && result.lanes && <LoaderLanes {...shared} lanes={result.lanes} />}
      {folded && (
        <More of={["the wait of each step"]} tables={["waits"]} tab={tab}>
          {waits}
        </More>
      )}
      {result.tiles.length > 0 && <Words view="data_loading" />}
    </div>
  );
}

function Waits(shared: LoaderPictureProps) {
  const { loaders, causes } = shared.result;
  return (
    <div>
      <StepTable {...shared} />
      {shared.compared && <OtherWaits compared={shared.compared} />}
      <Shares result={shared.result} />
      {loaders.length === 1 && <FirstBatch loader={loaders[0]!} starts={causes?.starts ?? null} />}
      {causes?.overhead && <Receiving overhead={causes.overhead} tab={shared.tab} />}
    </div>
  );
}

function Batches({ result, titles, tab, name, compared = null }: LoaderPictureProps) {
  return result.activities && <Activities activities={result.activities} {...{ titles, tab, name, compared }} />;
}

function Lines({ result, tab, name }: LoaderPictureProps) {
  const lines = result.activities?.slow_lines ?? [];
  return lines.length > 0 ? <SlowLines lines={lines} tab={tab} name={name} /> : null;
}

function RecordedWorkers(shared: LoaderPictureProps & RecordedProps) {
  return (
    <>
      <ProductionPicture {...shared} />
      <div class="split">
        <div class="column">
          <BatchSplit {...shared} />
          {!shared.result.unknown && <Batches {...shared} />}
        </div>
        <div class="column">
          <Workers {...shared} />
          {shared.recorded.lines && <WorkerLines lines={shared.recorded.lines} tab={shared.tab} name={shared.name} />}
          <Slowest {...shared} />
          <Lines {...shared} />
        </div>
      </div>
    </>
  );
}

/** The folder of a run below the log directory. */
function placeOf(root: string | undefined, run: string): string {
  const base = (root ?? "runs").replace(/\/+$/, "");
  return run === "." || run === "" ? base : `${base}/${run}`;
}

/** Short lines, for a narrow column. `place` is the folder of the run, as the log directory names it. */
export const recorderLines = (place: string): string => `from tb_steptime.record import LoaderRecorder
log_dir = ${JSON.stringify(place)}
loader = LoaderRecorder(log_dir).watch(loader)`;

/**
 * The questions that a recorder would answer: about workers, about a batch that the main process makes, or about a
 * loader without marks.
 */
const ASKED = {
  workers: {
    title: "Record the workers",
    says: "Three lines of code record what each worker does.",
    details:
      "A trace does not show worker processes. The recorder also keeps dataset and collate time, CPU time and the " +
      "slowest batches.",
  },
  batch: {
    title: "Record how batches are produced",
    says: "Three lines of code record dataset and collate time.",
    details: "They also record CPU time and the slowest batches, and the workers once there are some.",
  },
  thread: {
    title: "Record a DataLoader that another thread reads",
    says: "Three lines of code record how fast its batches are produced and used.",
    details:
      "A torch DataLoader marks its waits by itself where the training loop reads it. A trace does not show what the " +
      "thread of a prefetcher does. The recorder also keeps what each worker does, and the slowest batches.",
  },
};

interface RecordHintProps {
  asks: keyof typeof ASKED;
  /** What the trace does not show without. */
  why?: string;
  place: string;
}

/** No trace contains everything: shows how to record it. */
function RecordHint({ asks, why = "", place }: RecordHintProps) {
  const { title, says, details } = ASKED[asks];
  return (
    <Section class="picture record-hint" title={title} details={`${why}${says} ${details}`}>
      <Code text={recorderLines(place)} />
    </Section>
  );
}
