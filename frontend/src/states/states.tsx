/** What is shown in place of a view: it is being read, it failed, the server is gone, or there is no trace yet. */

import { Component, type ComponentChildren } from "preact";
import type { Index, Problem, Progress, Waiting } from "../api.gen";
import { Code, CopyButton } from "../components/copy";
import { Note } from "../components/note";
import { TilePlace, Tiles } from "../components/tile";
import { Busy, BytesRead, Countdown, FileOf, Late, percentOf, WayOut } from "../components/waiting";
import { bytes, bytesOf, clock, count, counted, rate, roughCount, wait } from "../format";
import { grouped } from "../lists";
import type { Source } from "../server/use_answer";

interface FailedProps {
  title: string;
  problem: Problem;
  /** Further lines of the error report: where the figures are from. */
  about: string;
  /** When the next automatic attempt is; null: only on a click. */
  retry_ms?: number | null;
  again(): void;
}

/** What went wrong, in which file, and what to do. Other spans can still be chosen in the bar above. */
export function Failed({ title, problem, about, retry_ms = null, again }: FailedProps) {
  const report = () =>
    [title, problem.problem, problem.file, problem.hint, about].filter((line) => line !== "").join("\n");
  return (
    <>
      <h1 class="title">{title}</h1>
      <p class="quiet">
        {problem.problem}.
        <FileOf problem={problem} />
      </p>
      <WayOut problem={problem} retry_ms={retry_ms} />
      <p class="actions">
        <button class="button" onClick={again}>
          Try again
        </button>
        <CopyButton text={report}>Copy the report</CopyButton>
      </p>
    </>
  );
}

interface BoundaryProps {
  /** A new name tries again: another view or another span may draw without an error. */
  name: string;
  about: string;
  children: ComponentChildren;
}

interface BoundaryState {
  failed: Error | null;
  name: string;
}

/** A view that throws leaves the frame usable, and its place says what happened. */
export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = { failed: null, name: this.props.name };

  static override getDerivedStateFromProps(props: BoundaryProps, state: BoundaryState): BoundaryState | null {
    return props.name === state.name ? null : { failed: null, name: props.name };
  }

  override componentDidCatch(error: unknown): void {
    console.error(error);
    this.setState({ failed: error instanceof Error ? error : new Error(String(error)) });
  }

  override render() {
    const { failed } = this.state;
    if (!failed) return this.props.children;
    const problem = {
      problem: failed.message,
      file: "",
      hint: "This is a fault of Step Insights. Other views stay usable.",
    };
    const about = `${this.props.about}\n${failed.stack ?? ""}`;
    return (
      <div data-state="failed">
        <Failed
          title="This view could not be drawn."
          problem={problem}
          about={about}
          again={() => this.setState({ failed: null })}
        />
      </div>
    );
  }
}

/** The server is gone; what is shown stays. Nothing while it answers. */
export function Gone({ source: { watched, watch } }: { source: Pick<Source, "watched" | "watch"> }) {
  const { trouble, received_ms } = watched;
  return (
    trouble && (
      <Note cause={`${trouble.problem.problem}.`} live>
        This page is from {clock(received_ms)}. <Countdown retry_ms={trouble.retry_ms} />{" "}
        <button onClick={watch.now}>Now</button>
      </Note>
    )
  );
}

/** A server that takes longer than this is reported as slow, long before it counts as gone. */
const SLOW_MS = 5_000;

interface OpeningProps {
  /** "Opening Host of rank 3". */
  title: string;
  /** What is being read for it, as a sentence. */
  reads: string;
}

/** An answer is on its way, and how far it is cannot be known. */
export function Opening({ title, reads }: OpeningProps) {
  return (
    <>
      <h1 class="title">{title}</h1>
      <Busy label={title} />
      <p class="quiet" role="status">
        {reads}{" "}
        <Late after_ms={SLOW_MS}>
          TensorBoard takes long: it may be busy with large traces, or with another plugin.
        </Late>
      </p>
    </>
  );
}

interface ReadingProps {
  /** What is being read, as the pickers name it: "rank 3". */
  name: string;
  waiting: Waiting | null;
  fileBytes: number;
  tiles: readonly string[];
  /** The number of spans that can be opened meanwhile. */
  ready: number;
}

/**
 * A span that is being read or waits to be read. Progress is in bytes of the file, whose size is known from the first
 * second.
 */
export function Reading({ name, waiting, fileBytes, tiles, ready }: ReadingProps) {
  const progress = waiting?.progress ?? null;
  const [read, total] = [progress?.read_bytes ?? 0, progress?.total_bytes ?? fileBytes];
  const percent = percentOf(read, total);
  return (
    <>
      <h1 class="title">
        {progress ? `Reading ${name}: ${bytesOf(read, total)}` : `Reading ${name}, ${bytes(total)}`}
      </h1>
      <BytesRead percent={percent} />
      <p class="quiet">
        {about(waiting, progress)} {ready > 0 && "Other spans are ready: choose one above."}
      </p>
      <p class="visually-hidden" role="status">
        {percent > 0 && `${25 * Math.floor(percent / 25)} percent read`}
      </p>
      <Tiles label="Figures of this span">
        {tiles.map((tile) => (
          <TilePlace key={tile} label={tile} />
        ))}
      </Tiles>
    </>
  );
}

function about(waiting: Waiting | null, progress: Progress | null): string {
  if (!waiting) return "\u00a0";
  const file = `File ${count(waiting.file_number)} of ${count(waiting.file_count)}`;
  if (!progress) return `${file}, not begun yet.`;
  const pace = progress.bytes_per_second === null ? [] : [rate(progress.bytes_per_second)];
  const left = progress.seconds_left === null ? [] : [`about ${wait(progress.seconds_left)} left`];
  return `${[file, `${roughCount(progress.events)} events`, ...pace, ...left].join(", ")}.`;
}

/** Six lines that record six steps. `place` is the directory that TensorBoard reads. */
const snippet = (place: string): string => `import torch.profiler as tp
with tp.profile(schedule=tp.schedule(wait=1, warmup=1, active=6),
                on_trace_ready=tp.tensorboard_trace_handler(${JSON.stringify(place)})) as p:
    for batch in loader:
        train_step(batch)
        p.step()`;

/** No trace yet: shows how to record one, and which places were searched. */
export function Empty({ index }: { index: Index }) {
  const first = index.places[0]?.replace(/\/+$/, "") ?? "runs";
  const { problems } = index;
  return (
    <>
      <h1 class="title">
        {problems.length > 0 ? "No trace of this log directory can be read." : "No traces in this log directory yet."}
      </h1>
      {[...grouped(problems, ({ problem, hint }) => `${problem}\n${hint}`).values()].map((alike) => (
        <Alike key={alike[0]!.file} problems={alike} />
      ))}
      <p class="quiet">Record six steps into the log directory of TensorBoard. They appear here by themselves.</p>
      <div class="snippet">
        <Code text={snippet(`${first}/a`)} />
      </div>
      <p class="faint small">
        Looked in {index.places.join(", ") || "no directory"} and {counted(index.folders, "folder")} below, last at{" "}
        {clock(index.scanned_at_ms)}. Names end in .json, .json.gz, .pftrace or .pftrace.gz.
      </p>
      <p class="faint small">
        For a job that hangs, <code>tb-steptime hang DUMPS</code> names the ranks that block it.
      </p>
    </>
  );
}

/** Further files with the same problem are counted. */
const MOST_FILES = 4;

/** A problem that several files may have, in one note. */
function Alike({ problems }: { problems: readonly Problem[] }) {
  const { problem, hint } = problems[0]!;
  const more = problems.length - MOST_FILES;
  return (
    <Note cause={problems.length > 1 ? `${problem}: ${counted(problems.length, "file")}.` : `${problem}.`}>
      {problems.slice(0, MOST_FILES).map(({ file }, at) => (
        <>
          {at > 0 && ", "}
          <code>{file}</code>
        </>
      ))}
      {more > 0 && ` and ${count(more)} more`}. {hint}
    </Note>
  );
}
