import type { RecordedWorker } from "../../api.gen";
import { InlineBar } from "../../charts/bars/split_bar";
import { Picture } from "../../components/picture";
import { type Column, Table } from "../../components/table";
import { count, counted, DASH, percent } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { sorting } from "../choices";
import { type LoaderNames, limitOf, loaderNames, sampledInAll, sampledText, workerName } from "./batch_production";
import type { RecordedProps } from "./production";

const MOST = 8;

/** What each worker process spends its time on. */
export function Workers({ recorded, tab, name }: RecordedProps) {
  const { workers, cores } = recorded;
  if (workers.length === 0) return null;
  const longest = Math.max(...workers.map((worker) => worker.dataset_ns + worker.collate_ns), 1);
  const names = loaderNames(recorded);
  const sampled = sampledInAll(workers);
  return (
    <Picture
      title={titleOf(workers, tab.meanings)}
      sub={cores === null ? undefined : `on ${counted(cores, "core")}`}
      name={`workers ${name}`}
      drawn={false}
      table={() => workersTable(workers, names, tab.meanings)}
      link={() => tab.address()}
    >
      <Table
        label="Worker processes"
        columns={columns(longest, names, tab.meanings)}
        rows={workers}
        rowKey={(worker) => `${worker.loader} ${worker.worker} ${worker.pid}`}
        maxRows={MOST}
        {...sorting(tab, "workers")}
      />
      {sampled && <p class="quiet small aside">{sampled}</p>}
    </Picture>
  );
}

/** Where all agree, the title says it. */
function titleOf(workers: readonly RecordedWorker[], meanings: Meanings): string {
  const [first] = workers;
  const alike = workers.every((worker) => worker.kind === first!.kind);
  const who = workers.length > 1 ? "Every worker" : first!.worker < 0 ? "The main process" : "The worker";
  const asked = workers.every((worker) => worker.worker < 0)
    ? "What does the main process spend its time on?"
    : "What do the workers spend their time on?";
  if (!alike || first!.kind === null || first!.kind === "mixed") return asked;
  return `${who} is ${limitOf(first!, meanings)}`;
}

function columns(longest: number, names: LoaderNames, meanings: Meanings): Column<RecordedWorker>[] {
  const loader: Column<RecordedWorker> = {
    id: "loader",
    label: "Loader",
    width: "106px",
    order: (row) => names.place(row.loader),
    cell: (row) => <span data-hint={names.of(row.loader)}>{names.of(row.loader)}</span>,
  };
  const bar: Column<RecordedWorker> = {
    id: "bar",
    label: "",
    least: "16px",
    cell: (row) => (
      <InlineBar
        segments={[
          { share: row.dataset_ns / longest, colour: "data" },
          { share: row.collate_ns / longest, colour: "cpu" },
        ]}
      />
    ),
  };
  const wide = (px: number, withLoader: number) => `${names.several ? withLoader : px}px`;
  return [
    ...(names.several ? [loader] : []), // in the place of the bar
    {
      id: "worker",
      label: "Worker",
      width: wide(56, 48),
      order: (row) => names.place(row.loader) * 1e6 + row.worker,
      cell: (row) => (
        <span
          data-hint={
            `${names.before(row.loader, workerName(row.worker))}, process ` +
            `${row.pid}${row.ended === false ? ". It was killed: its last batches are not recorded." : ""}`
          }
        >
          {row.worker < 0 ? "main" : row.worker}
        </span>
      ),
    },
    {
      id: "batches",
      ...columnHead(meanings, "worker_batches"),
      width: wide(58, 60),
      numeric: true,
      order: (row) => row.batches,
      cell: (row) => count(row.batches),
    },
    ...(names.several ? [] : [bar]),
    {
      id: "dataset",
      ...columnHead(meanings, "worker_dataset_ns"),
      width: wide(66, 60),
      figures: { of: (row) => row.dataset_ns, unit: "ns", siblings: "time" },
    },
    {
      id: "collate",
      ...columnHead(meanings, "worker_collate_ns"),
      width: wide(66, 58),
      figures: { of: (row) => row.collate_ns, unit: "ns", siblings: "time" },
    },
    {
      id: "busy",
      ...columnHead(meanings, "worker_busy_share"),
      width: "54px",
      numeric: true,
      order: (row) => row.busy_share,
      cell: (row) => percent(row.busy_share),
    },
    {
      id: "cpu",
      ...columnHead(meanings, "worker_cpu_share"),
      width: wide(54, 50),
      numeric: true,
      order: (row) => row.cpu_share,
      cell: (row) => <span data-hint={sampledText(row)}>{percent(row.cpu_share)}</span>,
    },
    {
      id: "core_wait",
      ...columnHead(meanings, "worker_core_wait_share"),
      width: wide(64, 60),
      numeric: true,
      order: (row) => row.core_wait_share,
      cell: (row) => <span data-hint={sampledText(row)}>{percent(row.core_wait_share)}</span>,
    },
    {
      id: "kind",
      ...columnHead(meanings, "worker_limit"),
      width: wide(128, 114),
      order: (row) => row.kind,
      cell: (row) => (
        <span class="after" data-hint={sampledText(row)}>
          {limitOf(row, meanings) ?? DASH}
          {row.ended === false && <b>, killed</b>}
        </span>
      ),
    },
  ];
}

function workersTable(workers: readonly RecordedWorker[], names: LoaderNames, meanings: Meanings) {
  const columns = ["Dataset", "Collate"].map((label) => ({ label, unit: "ns" as const }));
  const shares = ["Busy", "CPU", "No core"].map((label) => ({ label, unit: "fraction" as const }));
  return {
    columns: [
      { label: "Loader" },
      { label: "Worker" },
      { label: "Process" },
      { label: "Batches", unit: "count" as const },
      ...columns,
      { label: "Sampled", unit: "count" as const },
      ...shares,
      { label: "Limit" },
      { label: "Ended" },
    ],
    rows: workers.map((row) => [
      names.of(row.loader),
      String(row.worker),
      String(row.pid),
      row.batches,
      row.dataset_ns,
      row.collate_ns,
      row.sampled,
      row.busy_share,
      row.cpu_share,
      row.core_wait_share,
      limitOf(row, meanings),
      row.ended === null ? null : row.ended ? "yes" : "killed",
    ]),
  };
}
