/** What ranks send to each other: a row for each group and size, with the waits for the other side, which may be
 * unknown. */

import type { JobRanks, MessagePair, Messages as Sent } from "../../api.gen";
import type { TableData } from "../../components/data_table";
import { Picture } from "../../components/picture";
import { type Column, Table } from "../../components/table";
import { columnHead, type Meanings } from "../../meanings";
import type { Tab } from "../props";

interface MessagesProps {
  job: JobRanks;
  name: string;
  tab: Tab;
}

export function Messages({ job: { messages }, name, tab }: MessagesProps) {
  if (messages.length === 0) return null;
  return (
    <Picture
      title="What do ranks send to each other?"
      sub="a step, mean of the ranks that do"
      name={`messages ${name}`}
      drawn={false}
      table={() => tableOf(messages, tab.meanings)}
      link={() => tab.address()}
    >
      <Table
        label="Sends and receives"
        columns={columnsOf(messages, tab.meanings)}
        rows={messages}
        rowKey={({ group, bytes }) => `${group} ${bytes}`}
        maxRows={8}
        sort={undefined}
        onSort={null}
      />
    </Picture>
  );
}

const perStep = (sum: number, { steps, ranks }: Sent): number => sum / Math.max(1, steps) / Math.max(1, ranks);

const exposedOf = ({ exposed_ns, running_ns }: Sent): number | null =>
  running_ns > 0 ? exposed_ns / running_ns : null;

function columnsOf(messages: readonly Sent[], meanings: Meanings): Column<Sent>[] {
  const groups = new Set(messages.map(({ group }) => group)).size > 1;
  return [
    {
      id: "bytes",
      ...columnHead(meanings, "job_bytes"),
      width: "112px",
      figures: { of: ({ bytes }) => bytes, unit: "bytes" },
      missing: "The trace does not record how many bytes they send.",
    },
    ...(groups
      ? [{ id: "group", label: "Process group", width: "160px", cell: ({ group }: Sent) => group ?? "not recorded" }]
      : []),
    {
      id: "ranks",
      ...columnHead(meanings, "job_ranks"),
      width: "76px",
      figures: { of: ({ ranks }) => ranks, unit: "count" },
    },
    {
      id: "count",
      ...columnHead(meanings, "job_count"),
      width: "76px",
      figures: { of: (row) => perStep(row.count, row), unit: "number" },
    },
    {
      id: "time",
      ...columnHead(meanings, "job_message_ns"),
      width: "92px",
      figures: { of: (row) => perStep(row.running_ns, row), unit: "ns", siblings: "time" },
    },
    {
      id: "exposed",
      ...columnHead(meanings, "job_exposed"),
      width: "84px",
      figures: { of: exposedOf, unit: "fraction" },
    },
  ];
}

function tableOf(messages: readonly Sent[], meanings: Meanings): TableData {
  const heads = ["job_bytes", "job_ranks", "job_count", "job_message_ns", "job_exposed"].map(meanings.metric);
  return {
    columns: [{ label: "Group" }, ...heads.map(({ label, unit }) => ({ label, unit }))],
    rows: messages.map((row) => [
      row.group,
      row.bytes,
      row.ranks,
      perStep(row.count, row),
      perStep(row.running_ns, row),
      exposedOf(row),
    ]),
  };
}

/** Which rank waits for which at their sends and receives: a row for each two ranks and size. */
interface PairsProps {
  job: JobRanks;
  name: string;
  tab: Tab;
}

export function MessagePairs({ job: { pairs }, name, tab }: PairsProps) {
  if (pairs.length === 0) return null;
  return (
    <Picture
      title="Which stage waits for which?"
      sub="a step; sends with the receives that take them"
      name={`message pairs ${name}`}
      drawn={false}
      table={() => pairsTable(pairs, tab.meanings)}
      link={() => tab.address()}
    >
      <Table
        label="Sends with their receives"
        columns={pairColumns(tab.meanings)}
        rows={pairs}
        rowKey={({ source, target, group, bytes }) => `${source} ${target} ${group} ${bytes}`}
        maxRows={8}
        sort={undefined}
        onSort={null}
      />
    </Picture>
  );
}

const HEADS = ["job_bytes", "job_count", "job_pair_transfer_ns", "job_sender_wait_ns", "job_receiver_wait_ns"] as const;

const figuresOf = (pair: MessagePair): (number | null)[] => [
  pair.bytes,
  ...[pair.count, pair.transfer_ns, pair.sender_wait_ns, pair.receiver_wait_ns].map((sum) => sum / pair.steps),
];

function pairColumns(meanings: Meanings): Column<MessagePair>[] {
  const time = (place: number): Column<MessagePair> => ({
    id: HEADS[place]!,
    ...columnHead(meanings, HEADS[place]!),
    width: "104px",
    figures: { of: (pair) => figuresOf(pair)[place]!, unit: "ns", siblings: "time" },
  });
  return [
    {
      id: "ranks",
      label: "From and to",
      width: "160px",
      cell: ({ source, target }) => `rank ${source} to rank ${target}`,
    },
    {
      id: "bytes",
      ...columnHead(meanings, "job_bytes"),
      width: "92px",
      figures: { of: ({ bytes }) => bytes, unit: "bytes" },
      missing: "The trace does not record how many bytes they send.",
    },
    {
      id: "count",
      ...columnHead(meanings, "job_count"),
      width: "76px",
      figures: { of: (pair) => pair.count / pair.steps, unit: "number" },
    },
    time(2),
    time(3),
    time(4),
  ];
}

function pairsTable(pairs: readonly MessagePair[], meanings: Meanings): TableData {
  const heads = HEADS.map(meanings.metric);
  return {
    columns: [
      { label: "From rank" },
      { label: "To rank" },
      { label: "Group" },
      ...heads.map(({ label, unit }) => ({ label, unit })),
    ],
    rows: pairs.map((pair) => [pair.source, pair.target, pair.group, ...figuresOf(pair)]),
  };
}
