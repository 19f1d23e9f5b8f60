import type { Recorded, RecordedLoader } from "../../api.gen";
import { SplitBar, type SplitPart } from "../../charts/bars/split_bar";
import { Picture } from "../../components/picture";
import { Swatch } from "../../colour";
import { type Column, Table } from "../../components/table";
import { DASH, type Scale, bytes, counted, percent, scaleFor, sentence } from "../../format";
import { BOUND_MEANING, MAKING, WAITS, boundOf, loaderNames } from "./batch_production";
import type { RecordedProps } from "./production";

interface Stage {
  id: string;
  label: string;
  meaning: string;
  colour: string;
  hatched: boolean;
  ns: number | null;
}

const READY = {
  id: "ready",
  label: "Prefetched",
  meaning: "The batch is in the training process and nobody has asked for it yet: time to spare.",
  colour: "other",
  hatched: true,
};

/** From the first read of a mean batch until the training loop takes it. */
function stagesOf(recorded: Recorded): Stage[] {
  const { dataset_ns, collate_ns, transfer_ns, ready_ns } = recorded;
  const times: Readonly<Record<string, number | null>> = {
    dataset: dataset_ns,
    collate: collate_ns,
    transfer: transfer_ns,
  };
  return [
    ...MAKING.filter((part) => part.id !== "idle").map((part) => ({ ...part, ns: times[part.id] ?? null })),
    { ...READY, ns: ready_ns },
  ];
}

/** Nothing comes from a worker then, and a batch is never there before it is asked for. */
const inTraining = ({ workers }: Recorded): boolean =>
  workers.length > 0 && workers.every((worker) => worker.worker < 0);

export function BatchSplit({ recorded, titles, apart, tab, name }: RecordedProps) {
  const title = titles["batch_split"]!;
  const stages = stagesOf(recorded).filter((stage) => stage.ns !== 0 || !inTraining(recorded));
  const whole = stages.reduce((sum, stage) => sum + (stage.ns ?? 0), 0);
  const waits = WAITS[apart ? "thread" : "loop"];
  const scale = scaleFor(Math.max(whole, recorded.wait_ns ?? 0), "ns");
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
      name={`a batch ${name}`}
      drawn={false}
      table={() => stagesTable(stages, waits.who, recorded.wait_ns)}
      link={() => tab.address()}
    >
      <SplitBar label={`${sentence(title)}. ${parts.map((part) => part.title).join("; ")}.`} parts={parts} off={NONE} />
      <Table
        label="What becomes of a batch"
        columns={columns(scale, whole)}
        rows={stages}
        rowKey={(stage) => stage.id}
        sort={undefined}
        onSort={() => {}}
        foot={
          <tr>
            <td title={waits.meaning}>{waits.who}</td>
            <td class="num">{scale.text(recorded.wait_ns)}</td>
            <td />
          </tr>
        }
      />
      <p class="quiet small aside">{aboutOf(recorded)}.</p>
      {recorded.loaders.map((loader) => (
        <Settings key={loader.loader} loader={loader} named={recorded.loaders.length > 1} />
      ))}
    </Picture>
  );
}

const NONE: ReadonlySet<string> = new Set();

const columns = (scale: Scale, whole: number): Column<Stage>[] => [
  {
    id: "part",
    label: "Part",
    cell: (stage) => (
      <span class="key" title={stage.meaning}>
        {stage.ns === null ? <i class="swatch hollow" /> : <Swatch colour={stage.colour} hatched={stage.hatched} />}
        {stage.label}
      </span>
    ),
  },
  { id: "time", label: "A batch", width: "84px", numeric: true, cell: (stage) => scale.text(stage.ns) },
  {
    id: "share",
    label: "Share",
    width: "64px",
    numeric: true,
    meaning: "Of the time from when the worker begins to produce the batch until it is taken.",
    cell: (stage) => (stage.ns === null || whole === 0 ? DASH : percent(stage.ns / whole)),
  },
];

function aboutOf(recorded: Recorded) {
  const { main, loaders, batches, samples, bytes: size, cpu_share: cpu, sampled } = recorded;
  const of = loaders.length > 1 ? ` of ${loaderNames(recorded).of(main)}` : "";
  const many = [
    `${counted(batches, "batch", "batches")}${of}`,
    ...(samples === null ? [] : [counted(samples, "sample")]),
    ...(size === null ? [] : [bytes(size)]),
  ];
  const limit = boundOf(recorded);
  const seen = sampled < batches ? ` in ${counted(sampled, "sampled batch", "sampled batches")}` : "";
  const bound = limit === null ? null : `${limit}${cpu === null ? "" : `, ${percent(cpu)} CPU${seen}`}`;
  return (
    <span title={bound ? BOUND_MEANING : undefined}>
      {[many[0], many.slice(1).join(", ") && `${many.slice(1).join(", ")} each`, bound].filter(Boolean).join("; ")}
    </span>
  );
}

/** As they stand in the call of the loader. */
function Settings({ loader, named }: { loader: RecordedLoader; named: boolean }) {
  const said: readonly (readonly [string, number | boolean | null])[] = [
    ["num_workers", loader.workers],
    ["prefetch_factor", loader.prefetch],
    ["batch_size", loader.batch_size],
    ["pin_memory", loader.pin_memory],
    ["persistent_workers", loader.persistent],
    ["in_order", loader.in_order],
  ];
  const written = said
    .filter(([, value]) => value !== null)
    .map(([key, value]) => `${key}=${typeof value === "boolean" ? (value ? "True" : "False") : value}`);
  return (
    <p class="quiet small aside settings">
      {[
        ...(named || loader.dataset === null ? [loader.label] : []),
        ...(loader.dataset === null ? [] : [loader.dataset]),
      ].join(", ")}
      , {counted(loader.batches, "batch", "batches")}: <code>{written.join(", ")}</code>
    </p>
  );
}

function stagesTable(stages: readonly Stage[], waits: string, wait_ns: number | null) {
  return {
    columns: [{ label: "Part" }, { label: "A batch", unit: "ns" as const }],
    rows: [...stages.map((stage) => [stage.label, stage.ns]), [waits, wait_ns]],
  };
}
