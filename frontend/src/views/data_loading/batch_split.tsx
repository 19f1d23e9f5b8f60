import { sum } from "d3-array";
import type { Recorded, RecordedLoader } from "../../api.gen";
import { SplitBar, type SplitPart } from "../../charts/bars/split_bar";
import { Swatch } from "../../colour";
import { Picture } from "../../components/picture";
import { type Column, Table } from "../../components/table";
import { hint } from "../../dom/hint";
import { bytes, counted, DASH, percent, scaleFor } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import { figureColumn } from "../table_picture";
import { limitOf, loaderNames, type ProductionPart, partOf, type RecordedProps } from "./production";

interface Stage extends ProductionPart {
  ns: number | null;
}

/** The stages of a mean batch, from its first read until the training loop takes it. */
function stagesOf({ dataset_ns, collate_ns, transfer_ns, ready_ns }: Recorded, meanings: Meanings): Stage[] {
  return [
    { ...partOf(meanings, "dataset"), ns: dataset_ns },
    { ...partOf(meanings, "collate"), ns: collate_ns },
    { ...partOf(meanings, "transfer"), ns: transfer_ns },
    { ...partOf(meanings, "ready"), ns: ready_ns },
  ];
}

/** Then nothing comes from a worker, and a batch is never there before it is requested. */
const inTraining = ({ workers }: Recorded): boolean =>
  workers.length > 0 && workers.every((worker) => worker.worker < 0);

export function BatchSplit({ recorded, titles, byReader, tab, name }: RecordedProps) {
  const title = titles.batch_split!;
  const stages = stagesOf(recorded, tab.meanings).filter((stage) => stage.ns !== 0 || !inTraining(recorded));
  const whole = sum(stages, (stage) => stage.ns ?? 0);
  const waits = partOf(tab.meanings, byReader ? "reader_waits" : "loop_waits");
  const scale = scaleFor(Math.max(whole, recorded.wait_ns ?? 0), "ns");
  const several = recorded.loaders.length > 1;
  const parts = stages.map(
    (stage): SplitPart => ({
      ...stage,
      share: whole > 0 ? (stage.ns ?? 0) / whole : 0,
      title: `${stage.label} ${scale.text(stage.ns)}`,
    }),
  );
  return (
    <Picture
      title={title}
      details={[aboutOf(recorded, tab.meanings), ...recorded.loaders.map((each) => settingsOf(each, several))].join(
        "\n",
      )}
      name={`a batch ${name}`}
      table={() => stagesTable(stages, waits.label, recorded.wait_ns)}
    >
      <SplitBar label={`${sentence(title)}. ${parts.map((part) => part.title).join("; ")}.`} parts={parts} />
      <Table
        label="What becomes of a batch"
        columns={columns(whole, tab.meanings)}
        rows={stages}
        rowKey={(stage) => stage.id}
        foot={{ name: <span {...hint(waits.meaning)}>{waits.label}</span>, cells: { time: recorded.wait_ns } }}
      />
    </Picture>
  );
}

const columns = (whole: number, meanings: Meanings): Column<Stage>[] => [
  {
    id: "part",
    label: "Part",
    cell: (stage) => (
      <span class="key" data-hint={stage.meaning}>
        {stage.ns === null ? <i class="swatch hollow" /> : <Swatch colour={stage.colour} hatched={stage.hatched} />}
        {stage.label}
      </span>
    ),
  },
  figureColumn("time", "A batch", 84, "ns", (stage) => stage.ns),
  {
    id: "share",
    ...columnHead(meanings, "stage_share"),
    width: "64px",
    numeric: true,
    cell: (stage) => (stage.ns === null || whole === 0 ? DASH : percent(stage.ns / whole)),
  },
];

/** How many batches there are, how large they are, and what limits their production. */
function aboutOf(recorded: Recorded, meanings: Meanings): string {
  const { main, loaders, batches, samples, bytes: size, cpu_share: cpu, sampled } = recorded;
  const of = loaders.length > 1 ? ` of ${loaderNames(recorded).of(main)}` : "";
  const many = [
    `${counted(batches, "batch", "batches")}${of}`,
    ...(samples === null ? [] : [counted(samples, "sample")]),
    ...(size === null ? [] : [bytes(size)]),
  ];
  const limit = limitOf(recorded, meanings);
  const sample = sampled < batches ? ` in ${counted(sampled, "sampled batch", "sampled batches")}` : "";
  const bound = limit === null ? null : `${limit}${cpu === null ? "" : `, ${percent(cpu)} CPU${sample}`}`;
  const each = many.slice(1).join(", ");
  return `${[many[0], each && `${each} each`, bound].filter(Boolean).join("; ")}.`;
}

/** The settings as the call of the loader has them. */
function settingsOf(loader: RecordedLoader, named: boolean): string {
  const settings: readonly (readonly [string, number | boolean | null])[] = [
    ["num_workers", loader.workers],
    ["prefetch_factor", loader.prefetch],
    ["batch_size", loader.batch_size],
    ["pin_memory", loader.pin_memory],
    ["persistent_workers", loader.persistent],
    ["in_order", loader.in_order],
  ];
  const written = settings
    .filter(([, value]) => value !== null)
    .map(([key, value]) => `${key}=${typeof value === "boolean" ? (value ? "True" : "False") : value}`);
  const names = [named || loader.dataset === null ? loader.label : null, loader.dataset].filter(Boolean).join(", ");
  return `${names}, ${counted(loader.batches, "batch", "batches")}: ${written.join(", ")}`;
}

function stagesTable(stages: readonly Stage[], waits: string, wait_ns: number | null) {
  return {
    columns: [{ label: "Part" }, { label: "A batch", unit: "ns" as const }],
    rows: [...stages.map((stage) => [stage.label, stage.ns]), [waits, wait_ns]],
  };
}
