import type { RecordedWorker, SlowBatch } from "../../api.gen";
import { type Column, fileFields } from "../../components/table";
import { count, counted, DASH, fine, ns, percent } from "../../format";
import { largestOf } from "../../lists";
import { columnHead, type Meanings } from "../../meanings";
import { barColumn, figureColumn, figuresOf, TablePicture } from "../table_picture";
import {
  type LoaderNames,
  limitOf,
  loaderColumn,
  loaderNames,
  type RecordedProps,
  sampledInAll,
  sampledText,
  workerName,
} from "./production";

const MOST = 8;

const shownWorker = ({ worker }: { worker: number }) => (worker < 0 ? "main" : worker);

/** What each worker process spends its time on. */
export function Workers({ recorded, tab, name }: RecordedProps) {
  const { workers, cores } = recorded;
  if (workers.length === 0) return null;
  const longest = largestOf(workers, (worker) => worker.dataset_ns + worker.collate_ns);
  const names = loaderNames(recorded);
  return (
    <TablePicture
      title={titleOf(workers, tab.meanings)}
      sub={cores === null ? undefined : `on ${counted(cores, "core")}`}
      details={sampledInAll(workers)}
      name={`workers ${name}`}
      label="Worker processes"
      columns={columns(longest, names, tab.meanings)}
      file={[{ label: "Ended", of: ({ ended }) => (ended === null ? null : ended ? "yes" : "killed") }]}
      rows={workers}
      rowKey={(worker) => `${worker.loader} ${worker.worker} ${worker.pid}`}
      maxRows={MOST}
      order="workers"
      tab={tab}
    />
  );
}

/** Where all workers agree, the title says so. */
function titleOf(workers: readonly RecordedWorker[], meanings: Meanings): string {
  const [first] = workers;
  const sameKind = workers.every((worker) => worker.kind === first!.kind);
  const who = workers.length > 1 ? "Every worker" : first!.worker < 0 ? "The main process" : "The worker";
  const asked = workers.every((worker) => worker.worker < 0)
    ? "What does the main process spend its time on?"
    : "What do the workers spend their time on?";
  if (!sameKind || first!.kind === null || first!.kind === "mixed") return asked;
  return `${who} is ${limitOf(first!, meanings)}`;
}

function columns(longest: number, names: LoaderNames, meanings: Meanings): Column<RecordedWorker>[] {
  const figure = figuresOf<RecordedWorker>(meanings);
  const wide = (px: number, withLoader: number) => (names.several ? withLoader : px);
  const bar = barColumn<RecordedWorker>((row) => [
    { share: row.dataset_ns / longest, colour: "data" },
    { share: row.collate_ns / longest, colour: "cpu" },
  ]);
  const share = (id: "busy_share" | "cpu_share" | "core_wait_share", width: number): Column<RecordedWorker> => ({
    ...figure(id, `worker_${id}`, width, (row) => row[id]),
    cell: (row) => percent(row[id]),
    ...(id !== "busy_share" && { hint: sampledText }),
  });
  return [
    ...(names.several ? [loaderColumn<RecordedWorker>(names, "106px")] : []), // in place of the bar
    {
      id: "worker",
      label: "Worker",
      width: `${wide(56, 48)}px`,
      order: (row) => names.place(row.loader) * 1e6 + row.worker,
      cell: shownWorker,
      hint: (row) =>
        `${names.before(row.loader, workerName(row.worker))}, process ` +
        `${row.pid}${row.ended === false ? ". It was killed: its last batches are not recorded." : ""}`,
      file: [
        ...(names.several ? [] : [{ label: "Loader", of: (row: RecordedWorker) => names.of(row.loader) }]),
        { label: "Worker", of: (row) => String(row.worker) },
        { label: "Process", of: (row) => String(row.pid) },
      ],
    },
    figure("batches", "worker_batches", wide(58, 60), (row) => row.batches),
    ...(names.several ? [] : [{ ...bar, least: "16px" }]),
    figure("dataset", "worker_dataset_ns", wide(66, 60), (row) => row.dataset_ns, { siblings: "time" }),
    figure("collate", "worker_collate_ns", wide(66, 58), (row) => row.collate_ns, { siblings: "time" }),
    { ...share("busy_share", 54), id: "busy" },
    { ...share("cpu_share", wide(54, 50)), id: "cpu" },
    { ...share("core_wait_share", wide(64, 60)), id: "core_wait" },
    {
      id: "kind",
      ...columnHead(meanings, "worker_limit"),
      width: `${wide(128, 114)}px`,
      order: (row) => row.kind,
      cell: (row) => (
        <span class="after" data-hint={sampledText(row)}>
          {limitOf(row, meanings) ?? DASH}
          {row.ended === false && <b>, killed</b>}
        </span>
      ),
      file: [
        { label: "Sampled", unit: "count", of: (row) => row.sampled },
        { label: "Limit", of: (row) => limitOf(row, meanings) },
      ],
    },
  ];
}

/** The batches that took longest to produce; choosing one also chooses the step that waited for it. */
export function Slowest({ recorded, byReader, chosen, tab, name }: RecordedProps) {
  const { slowest, production_ns: mean, start_ns: from } = recorded;
  const [first] = slowest;
  if (!first) return null;
  const longest = largestOf(slowest, (batch) => batch.total_ns);
  const names = loaderNames(recorded);
  const title =
    mean === null ? "Which batches take longest?" : `The slowest batch takes ${ns(longest)}, the mean one ${ns(mean)}`;
  return (
    <TablePicture
      title={title}
      name={`slowest batches ${name}`}
      label="Slowest batches"
      columns={slowColumns(longest, from, names, byReader, tab.meanings)}
      file={[
        ...(names.several ? [] : [{ label: "Loader", of: (row: SlowBatch) => names.of(row.loader) }]),
        { label: "From", unit: "ns", of: (row) => row.start_ns - from },
        ...fileFields<SlowBatch>({ total_ns: "Total" }, "ns"),
      ]}
      rows={slowest}
      rowKey={keyOf}
      maxRows={MOST}
      order="slowest"
      tab={tab}
      chosen={keyOfStep(slowest, chosen.hovered ?? chosen.selected)}
      onChoose={(batch) => batch.step !== null && chosen.select(batch.step)}
      onHover={(batch) => chosen.hover(batch?.step ?? null)}
    />
  );
}

const keyOf = (batch: SlowBatch): string => `${batch.loader} ${batch.worker} ${batch.batch} ${batch.start_ns}`;

function keyOfStep(slowest: readonly SlowBatch[], step: string | null): string | undefined {
  const found = step === null ? undefined : slowest.find((batch) => batch.step === step);
  return found && keyOf(found);
}

function slowColumns(
  longest: number,
  from: number,
  names: LoaderNames,
  byReader: boolean,
  meanings: Meanings,
): Column<SlowBatch>[] {
  const figure = figuresOf<SlowBatch>(meanings);
  return [
    ...(names.several ? [loaderColumn<SlowBatch>(names, "116px")] : []),
    {
      id: "batch",
      label: "Batch",
      width: "52px",
      numeric: true,
      order: (row) => row.batch,
      cell: (row) => count(row.batch),
      hint: (row) => `Begins ${fine(row.start_ns - from)} after the start of the picture`,
      file: fileFields<SlowBatch>({ batch: "Batch" }, "count"),
    },
    {
      id: "worker",
      label: "Worker",
      width: "60px",
      numeric: true,
      order: (row) => names.place(row.loader) * 1e6 + row.worker,
      cell: shownWorker,
      hint: (row) => names.before(row.loader, workerName(row.worker)),
      file: [{ label: "Worker", of: (row) => String(row.worker) }],
    },
    {
      id: "step",
      label: "Step",
      width: "56px",
      numeric: true,
      order: (row) => row.step,
      missing: "No recorded step took it.",
    },
    barColumn((row) => [
      { share: row.dataset_ns / longest, colour: "data" },
      { share: row.collate_ns / longest, colour: "cpu" },
    ]),
    figureColumn("dataset", "Dataset", 72, "ns", (row) => row.dataset_ns, { siblings: "time" }),
    figureColumn("collate", "Collate", 68, "ns", (row) => row.collate_ns, { siblings: "time" }),
    {
      ...figure("cpu", "batch_cpu_share", 58, (row) => row.cpu_share),
      cell: (row) => percent(row.cpu_share),
      missing: "The batch was not sampled",
    },
    figure("wait", byReader ? "batch_reader_wait_ns" : "batch_wait_ns", 72, (row) => row.wait_ns),
  ];
}
