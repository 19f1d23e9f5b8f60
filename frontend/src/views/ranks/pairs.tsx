/** Which rank waits for which at their sends and receives: a row for each two ranks and size. */

import type { JobRanks, MessagePair } from "../../api.gen";
import type { TableData } from "../../components/data_table";
import { Picture } from "../../components/picture";
import { type Column, Table } from "../../components/table";
import { columnHead, type Meanings } from "../../meanings";
import type { Tab } from "../props";

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
      table={() => tableOf(pairs, tab.meanings)}
      link={() => tab.address()}
    >
      <Table
        label="Sends with their receives"
        columns={columnsOf(tab.meanings)}
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

function columnsOf(meanings: Meanings): Column<MessagePair>[] {
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

function tableOf(pairs: readonly MessagePair[], meanings: Meanings): TableData {
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
