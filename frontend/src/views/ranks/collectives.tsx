/** What the ranks exchange: a row for each kind, group and type with its sizes, and what they send to each other. */

import { sum } from "d3-array";
import { useMemo, useState } from "preact/hooks";
import type { JobCollective, JobRanks, MessagePair, RanksPage, Messages as Sent } from "../../api.gen";
import { ValueGrid, valueAxis } from "../../charts/axes";
import { Filter, Unmatched } from "../../components/filter";
import { type Column, fileFields, Table } from "../../components/table";
import { sized } from "../../dom/size";
import { bytes, counted, DASH, percent, type Scale, scaleFor } from "../../format";
import { grouped } from "../../lists";
import { columnHead, type Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import { holds, wordsOf } from "../../words";
import { sorting } from "../choices";
import { type Tab, titleOf, type ViewPart } from "../props";
import { barColumn, figuresOf, TablePicture } from "../table_picture";

interface OfJob extends ViewPart {
  job: JobRanks;
}

export function JobCollectives({ page, job, name, tab }: OfJob & { page: RanksPage }) {
  const rows = useMemo(() => exchangesOf(job.collectives), [job]);
  const typed = tab.state.exchanged ?? "";
  const type = (exchanged: string | null) => tab.update({ exchanged });
  const [chosen, choose] = useState<string | null>(null);
  const { meanings } = tab;
  if (rows.length === 0) return null;
  const searched = wordsOf(typed);
  const found = rows.filter((row) => holds(textOf(row, meanings), searched));
  const opened = rows.find(({ key }) => key === chosen) ?? null;
  return (
    <TablePicture
      title={titleOf(page, "collectives")}
      sub="a step, mean of the ranks"
      details={rows.some(({ sizes }) => sizes.length > 1) && "Click a row to see its sizes."}
      name={`collectives ${name}`}
      tools={
        rows.length > FEW && (
          <Filter
            label="Filter by collective, group or type"
            placeholder="Filter"
            typed={typed}
            change={type}
            shown={found.length}
            all={rows.length}
          />
        )
      }
      label="Collectives of the job"
      columns={columnsOf(job, meanings)}
      rows={found}
      saved={() => job.collectives.flatMap((each) => exchangesOf([each]))}
      rowKey={({ key }) => key}
      chosen={opened?.key}
      onChoose={(row) => choose(row.key === chosen ? null : row.key)}
      maxRows={12}
      empty={<Unmatched what="No collective" typed={typed} change={type} />}
      order={["job_collectives", "-transfer"]}
      tab={tab}
    >
      {opened && <Sizes exchange={opened} job={job} tab={tab} />}
    </TablePicture>
  );
}

/** With fewer rows than this no filter is needed. */
const FEW = 6;

const roleOf = ({ role }: JobCollective, meanings: Meanings): string => meanings.roles[role] ?? role;

const textOf = ({ most }: Exchange, meanings: Meanings): string =>
  [most.label, most.group, most.dtype, roleOf(most, meanings)].join(" ");

/** A sum per rank and step. */
const perStep = (sum: number, { ranks }: JobCollective, { matched_steps }: JobRanks): number =>
  sum / matched_steps / ranks;

function columnsOf(job: JobRanks, meanings: Meanings): Column<Exchange>[] {
  const longest = Math.max(1, ...exchangesOf(job.collectives).map((row) => perStep(row.running_ns, row.most, job)));
  const figure = figuresOf<Exchange>(meanings);
  const time = (id: string, metric: string, of: (row: Exchange) => number) =>
    figure(id, metric, 92, (row) => perStep(of(row), row.most, job), { siblings: "time" });
  const rate = (id: "algorithm_rate" | "bus_rate", metric: string): Column<Exchange> => ({
    ...figure(id, metric, 92, ({ most }) => most[id], { siblings: "rate" }),
    missing: NO_SIZE,
  });
  return [
    {
      id: "kind",
      ...columnHead(meanings, "job_collective"),
      cell: ({ most }) => [most.label, most.dtype].filter(Boolean).join(", "),
      order: ({ most }) => most.label,
      file: [
        { label: "Collective", of: ({ most }) => most.label },
        { label: "Type", of: ({ most }) => most.dtype },
      ],
    },
    {
      id: "role",
      ...columnHead(meanings, "job_group"),
      hint: ({ most }) => groupHint(most, job, meanings),
      order: ({ most }) => roleOf(most, meanings),
      file: [
        { label: "Group", of: ({ most }) => most.group },
        { label: "For", of: ({ most }) => roleOf(most, meanings) },
      ],
    },
    figure("ranks", "job_ranks", 60, ({ most }) => most.ranks),
    {
      id: "bytes",
      ...columnHead(meanings, "job_bytes"),
      width: "112px",
      numeric: true,
      cell: ({ sizes }) => sizesText(sizes),
      order: ({ most }) => most.bytes,
      missing: NO_SIZE,
      file: [{ label: meanings.metric("job_bytes").label, unit: "bytes", of: ({ most }) => most.bytes }],
    },
    figure("count", "job_count", 60, ({ count }) => count / job.matched_steps),
    time("transfer", "job_transfer_ns", ({ transfer_ns }) => transfer_ns),
    time("wait", "job_wait_ns", ({ wait_ns }) => wait_ns),
    barColumn(
      (row) => [
        { share: perStep(row.transfer_ns, row.most, job) / longest, colour: "comm" },
        { share: perStep(row.wait_ns, row.most, job) / longest, colour: "comm", hatched: true },
      ],
      "96px",
    ),
    figure("exposed", "job_exposed", 76, (row) => (row.running_ns > 0 ? row.exposed_ns / row.running_ns : null)),
    rate("algorithm_rate", "job_algorithm_rate"),
    rate("bus_rate", "job_bus_rate"),
    ...(job.collectives.some(({ of_peak }) => of_peak !== null)
      ? [{ ...figure("of_peak", "job_of_peak", 76, ({ most }) => most.of_peak), missing: NO_PEAK }]
      : []),
  ];
}

const NO_PEAK = "The link's peak is not told, or the trace does not record how many bytes they exchange.";
const NO_SIZE = "The trace does not record how many bytes they exchange.";

function sizesText(sizes: readonly JobCollective[]): string {
  const measured = sizes.flatMap((each) => (each.bytes === null ? [] : [each.bytes]));
  if (measured.length === 0) return DASH;
  const [most, least] = [bytes(measured[0]!), bytes(measured.at(-1)!)];
  return most === least ? most : `${least} – ${most}`;
}

/**
 * The process group, its ranks, and the evidence of its purpose; for gathered parameters also how much of them is
 * hidden. Groups of other ranks may have the same name.
 */
function groupHint(row: JobCollective, { groups }: JobRanks, meanings: Meanings): string {
  const { group, ranks, members: of, prefetched } = row;
  const listed = groups.find((each) => each.name === group && each.ranks.join() === of.join());
  const members = of.length > 0 ? ` (ranks ${of.join(", ")})` : "";
  const shown = listed ? ` ${sentence(meanings.explain(listed.shown_by))}` : "";
  const hidden = prefetched === null ? "" : ` Prefetching hides ${percent(prefetched)} of their time.`;
  return `Process group ${group ?? "not recorded"}, ${counted(ranks, "rank")}${members}.${shown}${hidden}`;
}

/** The sizes of the row that was clicked, and the bandwidth that each reaches. */
function Sizes({ exchange: { sizes, most }, job, tab }: { exchange: Exchange; job: JobRanks; tab: Tab }) {
  const { meanings } = tab;
  const points = sizes.flatMap((each) =>
    each.bytes === null || each.bus_rate === null
      ? []
      : [{ bytes: each.bytes, rate: each.bus_rate, name: bytes(each.bytes) }],
  );
  const scale = scaleFor(Math.max(0, ...points.map(({ rate }) => rate)), "bytes_per_second");
  const head = meanings.metric("job_bus_rate").label;
  return (
    <div class="split rank-sizes">
      <Table
        label={`Sizes of ${most.label}`}
        columns={sizeColumns(job, meanings)}
        rows={sizes}
        rowKey={(row) => `${row.bytes}`}
        maxRows={8}
        {...sorting(tab, "rank_sizes", "-bytes")}
      />
      {points.length > 1 && (
        <div>
          <p class="quiet small">{head} by message size</p>
          <Bandwidth label={spoken(`${head} of ${most.label}`, points, scale)} points={points} scale={scale} />
        </div>
      )}
    </div>
  );
}

const spoken = (of: string, points: readonly BandwidthPoint[], scale: Scale): string =>
  `${of}: ${points.map(({ name, rate }) => `${name} ${scale.text(rate)}`).join(", ")}`;

function sizeColumns(job: JobRanks, meanings: Meanings): Column<JobCollective>[] {
  const figure = figuresOf<JobCollective>(meanings);
  const time = (id: string, metric: string, of: (row: JobCollective) => number) =>
    figure(id, metric, 88, (row) => perStep(of(row), row, job), { siblings: "time" });
  return [
    {
      id: "bytes",
      ...columnHead(meanings, "job_bytes"),
      figures: { of: (row) => row.bytes, unit: "bytes" },
      missing: NO_SIZE,
    },
    figure("count", "job_count", 60, ({ count }) => count / job.matched_steps),
    time("transfer", "job_transfer_ns", ({ transfer_ns }) => transfer_ns),
    time("wait", "job_wait_ns", ({ wait_ns }) => wait_ns),
    { ...figure("bus_rate", "job_bus_rate", 92, (row) => row.bus_rate), missing: NO_SIZE },
  ];
}

/** Sums over its sizes; most: the size with the longest transfers, whose bandwidth represents all. */
interface Exchange {
  key: string;
  most: JobCollective;
  sizes: readonly JobCollective[];
  count: number;
  transfer_ns: number;
  wait_ns: number;
  running_ns: number;
  exposed_ns: number;
}

function exchangesOf(collectives: readonly JobCollective[]): Exchange[] {
  // other groups may have the same name
  const keyOf = ({ kind, group, members, dtype }: JobCollective) => [kind, group, members, dtype].join("\n");
  return [...grouped(collectives, keyOf)].map(([key, sizes]) => ({
    key,
    most: sizes.reduce((most, each) => (each.transfer_ns > most.transfer_ns ? each : most)),
    sizes: [...sizes].sort((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0)),
    count: sum(sizes, (each) => each.count),
    transfer_ns: sum(sizes, (each) => each.transfer_ns),
    wait_ns: sum(sizes, (each) => each.wait_ns),
    running_ns: sum(sizes, (each) => each.running_ns),
    exposed_ns: sum(sizes, (each) => each.exposed_ns),
  }));
}

/** What ranks send to each other: a row for each group and size, with the waits for the other side where known. */
export function Messages({ job: { messages }, name, tab }: OfJob) {
  if (messages.length === 0) return null;
  return (
    <TablePicture
      title="What do ranks send to each other?"
      sub="a step, mean of the ranks that do"
      name={`messages ${name}`}
      label="Sends and receives"
      columns={messageColumns(messages, tab.meanings)}
      rows={messages}
      rowKey={({ group, bytes }) => `${group} ${bytes}`}
      maxRows={8}
      order={null}
      tab={tab}
    />
  );
}

const perSender = (sum: number, { steps, ranks }: Sent): number => sum / steps / ranks;

const exposedOf = ({ exposed_ns, running_ns }: Sent): number | null =>
  running_ns > 0 ? exposed_ns / running_ns : null;

function messageColumns(messages: readonly Sent[], meanings: Meanings): Column<Sent>[] {
  const groups = new Set(messages.map(({ group }) => group)).size > 1;
  const figure = figuresOf<Sent>(meanings);
  const group: Column<Sent> = {
    id: "group",
    label: "Process group",
    width: "160px",
    cell: (row) => row.group ?? "not recorded",
    file: fileFields<Sent>({ group: "Group" }),
  };
  return [
    { ...figure("bytes", "job_bytes", 112, ({ bytes }) => bytes), missing: NO_SENT_SIZE },
    ...(groups ? [group] : []),
    figure("ranks", "job_ranks", 76, ({ ranks }) => ranks),
    figure("count", "job_count", 76, (row) => perSender(row.count, row)),
    figure("time", "job_message_ns", 92, (row) => perSender(row.running_ns, row)),
    figure("exposed", "job_exposed", 84, exposedOf),
  ];
}

const NO_SENT_SIZE = "The trace does not record how many bytes they send.";

/** Which rank waits for which in sends and receives: a row for each pair of ranks and each size. */
export function MessagePairs({ job: { pairs }, name, tab }: OfJob) {
  if (pairs.length === 0) return null;
  return (
    <TablePicture
      title="Which stage waits for which?"
      sub="a step; sends with the receives that take them"
      name={`message pairs ${name}`}
      label="Sends with their receives"
      columns={pairColumns(tab.meanings)}
      rows={pairs}
      rowKey={({ source, target, group, bytes }) => `${source} ${target} ${group} ${bytes}`}
      maxRows={8}
      order={null}
      tab={tab}
    />
  );
}

function pairColumns(meanings: Meanings): Column<MessagePair>[] {
  const figure = figuresOf<MessagePair>(meanings);
  const time = (id: "transfer_ns" | "sender_wait_ns" | "receiver_wait_ns", metric: string) =>
    figure(metric, metric, 104, (pair) => pair[id] / pair.steps, { siblings: "time" });
  return [
    {
      id: "ranks",
      label: "From and to",
      width: "160px",
      cell: ({ source, target }) => `rank ${source} to rank ${target}`,
      file: fileFields<MessagePair>({ source: "From rank", target: "To rank", group: "Group" }),
    },
    { ...figure("bytes", "job_bytes", 92, ({ bytes }) => bytes), missing: NO_SENT_SIZE },
    figure("count", "job_count", 76, (pair) => pair.count / pair.steps),
    time("transfer_ns", "job_pair_transfer_ns"),
    time("sender_wait_ns", "job_sender_wait_ns"),
    time("receiver_wait_ns", "job_receiver_wait_ns"),
  ];
}

interface BandwidthPoint {
  bytes: number;
  rate: number;
  /** "25 MB" */
  name: string;
}

interface BandwidthProps {
  label: string;
  points: readonly BandwidthPoint[];
  scale: Scale;
}

const HEIGHT = 132;
const TOP = 10;
const FOOT = 22;
const LEFT = 64;
const RIGHT = 28;

const Bandwidth = sized<BandwidthProps>(Plot, HEIGHT);

/** Sizes are placed by their logarithm to base 2: each doubling is the same distance. */
function Plot({ label, points, scale, width }: BandwidthProps & { width: number }) {
  const sorted = [...points].sort((a, b) => a.bytes - b.bytes);
  const logs = sorted.map(({ bytes }) => Math.log2(Math.max(1, bytes)));
  const [first, last] = [logs[0] ?? 0, logs.at(-1) ?? 1];
  const axis = valueAxis(
    sorted.map(({ rate }) => scale.of(rate)),
    true,
    3,
  );
  const bottom = HEIGHT - FOOT;
  const x = (log: number) =>
    last === first ? (LEFT + width) / 2 : LEFT + 12 + ((log - first) / (last - first)) * (width - LEFT - RIGHT - 12);
  const y = (value: number) => bottom - ((value - axis.low) / (axis.high - axis.low)) * (bottom - TOP);
  const dots = sorted.map((point, at) => ({ ...point, x: x(logs[at]!), y: y(scale.of(point.rate)) }));
  return (
    <svg class="chart of-comm" width={width} height={HEIGHT} role="img" aria-label={label}>
      <ValueGrid ticks={axis.ticks} y={y} left={LEFT} right={width} unit={scale.unit} />
      <path class="line" fill="none" d={dots.map((dot, at) => `${at ? "L" : "M"}${dot.x} ${dot.y}`).join("")} />
      {dots.map((dot, at) => (
        <g key={dot.bytes}>
          <circle class="mark" cx={dot.x} cy={dot.y} r="3.5" />
          {(at === 0 || dot.x - dots[at - 1]!.x > 56) && (
            <text class="mid" x={dot.x} y={HEIGHT - 6}>
              {dot.name}
            </text>
          )}
        </g>
      ))}
    </svg>
  );
}
