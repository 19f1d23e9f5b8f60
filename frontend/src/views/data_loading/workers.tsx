import { sorting } from "../choices";
import type { RecordedWorker } from "../../api.gen";
import { InlineBar } from "../../charts/bars/split_bar";
import { Picture } from "../../components/picture";
import { type Column, Table } from "../../components/table";
import { DASH, type Scale, count, counted, percent, scaleFor } from "../../format";
import {
  BOUND_MEANING,
  type LoaderNames,
  boundOf,
  loaderNames,
  sampledOf,
  sampledInAll,
  summed,
  workerName,
} from "./batch_production";
import type { RecordedProps } from "./production";

const MOST = 8;

/** What each worker process spends its time on. */
export function Workers({ recorded, tab, name }: RecordedProps) {
  const { workers, cores } = recorded;
  if (workers.length === 0) return null;
  const longest = Math.max(...workers.map((worker) => worker.dataset_ns + worker.collate_ns), 1);
  const scale = scaleFor(longest, "ns");
  const names = loaderNames(recorded);
  const sampled = sampledInAll(workers);
  return (
    <Picture
      title={titleOf(workers)}
      sub={cores === null ? undefined : `on ${counted(cores, "core")}`}
      name={`workers ${name}`}
      drawn={false}
      table={() => workersTable(workers, names)}
      link={() => tab.address()}
    >
      <Table
        label="Worker processes"
        columns={columns(scale, longest, names)}
        rows={workers}
        rowKey={(worker) => `${worker.loader} ${worker.worker} ${worker.pid}`}
        most={MOST}
        {...sorting(tab, "workers")}
      />
      {sampled && <p class="quiet small aside">{sampled}</p>}
    </Picture>
  );
}

/** Where all agree, the title says it, and of how few batches where that is an estimate. */
function titleOf(workers: readonly RecordedWorker[]): string {
  const [first] = workers;
  const alike = workers.every((worker) => worker.kind === first!.kind);
  const who = workers.length > 1 ? "Every worker" : first!.worker < 0 ? "The training process" : "The worker";
  const asked = workers.every((worker) => worker.worker < 0)
    ? "What does the training process spend its time on?"
    : "What do the workers spend their time on?";
  if (!alike || first!.kind === null || first!.kind === "mixed") return asked;
  const { sampled, batches } = summed(workers);
  const from = workers.some((worker) => worker.few_sampled)
    ? `, est. from ${count(sampled)} of ${counted(batches, "batch", "batches")}`
    : "";
  return `${who} is ${boundOf({ ...first!, few_sampled: false })}${from}`;
}

function columns(scale: Scale, longest: number, names: LoaderNames): Column<RecordedWorker>[] {
  const loader: Column<RecordedWorker> = {
    id: "loader",
    label: "Loader",
    width: "116px",
    order: (row) => names.place(row.loader),
    cell: (row) => <span title={names.of(row.loader)}>{names.of(row.loader)}</span>,
  };
  const bar: Column<RecordedWorker> = {
    id: "bar",
    label: "",
    cell: (row) => (
      <InlineBar
        pieces={[
          { share: row.dataset_ns / longest, colour: "data" },
          { share: row.collate_ns / longest, colour: "cpu" },
        ]}
      />
    ),
  };
  const wide = (px: number, beside: number) => `${names.several ? beside : px}px`;
  return [
    ...(names.several ? [loader] : []), // in the place of the bar
    {
      id: "worker",
      label: "Worker",
      width: wide(56, 48),
      order: (row) => names.place(row.loader) * 1e6 + row.worker,
      cell: (row) => (
        <span
          title={`${names.before(row.loader, workerName(row.worker))}, process ${row.pid}${row.ended === false ? ". It was killed: its last batches are not recorded." : ""}`}
        >
          {row.worker < 0 ? "main" : row.worker}
        </span>
      ),
    },
    {
      id: "batches",
      label: "Batches",
      width: wide(58, 60),
      numeric: true,
      order: (row) => row.batches,
      cell: (row) => count(row.batches),
      meaning: "Batches that it makes while the span lasts, also those that only steps after it take.",
    },
    ...(names.several ? [] : [bar]),
    {
      id: "dataset",
      label: "Dataset",
      width: wide(72, 64),
      numeric: true,
      order: (row) => row.dataset_ns,
      cell: (row) => scale.text(row.dataset_ns),
      meaning: "A batch, in the dataset's own code.",
    },
    {
      id: "collate",
      label: "Collate",
      width: wide(72, 58),
      numeric: true,
      order: (row) => row.collate_ns,
      cell: (row) => scale.text(row.collate_ns),
      meaning: "A batch, putting its samples together.",
    },
    {
      id: "busy",
      label: "Busy",
      width: wide(60, 54),
      numeric: true,
      order: (row) => row.busy_share,
      cell: (row) => percent(row.busy_share),
      meaning: "Share of the span in which it makes batches.",
    },
    {
      id: "cpu",
      label: "CPU",
      width: wide(60, 50),
      numeric: true,
      order: (row) => row.cpu_share,
      cell: (row) => <span title={sampledOf(row)}>{percent(row.cpu_share)}</span>,
      meaning: "CPU time of the worker's thread, of the time in which it produces sampled batches.",
    },
    {
      id: "core_wait",
      label: "No core",
      width: wide(64, 60),
      numeric: true,
      order: (row) => row.core_wait_share,
      cell: (row) => <span title={sampledOf(row)}>{percent(row.core_wait_share)}</span>,
      meaning: "Of that time, how long the thread could have run but had no core. Linux tells.",
    },
    {
      id: "kind",
      label: "Limit",
      width: wide(128, 114),
      order: (row) => row.kind,
      meaning: BOUND_MEANING,
      cell: (row) => (
        <span class="after" title={sampledOf(row)}>
          {boundOf(row) ?? DASH}
          {row.ended === false && <b>, killed</b>}
        </span>
      ),
    },
  ];
}

function workersTable(workers: readonly RecordedWorker[], names: LoaderNames) {
  const columns = ["Dataset", "Collate"].map((label) => ({ label, unit: "ns" as const }));
  const shares = ["Busy", "CPU", "No core"].map((label) => ({ label, unit: "fraction" as const }));
  return {
    columns: [
      { label: "Loader" },
      { label: "Worker" },
      { label: "Process" },
      { label: "Batches", unit: "count" as const },
      ...columns,
      { label: "Looked at", unit: "count" as const },
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
      boundOf(row),
      row.ended === null ? null : row.ended ? "yes" : "killed",
    ]),
  };
}
