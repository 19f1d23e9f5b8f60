/** What ranks send to each other: a row for each group and size, with the waits for the other side, which may be
 * unknown. */

import type { JobRanks, MessagePair, Messages as Sent } from "../../api.gen";
import { type Column, fileFields } from "../../components/table";
import type { Meanings } from "../../meanings";
import type { Tab } from "../props";
import { figuresOf, TablePicture } from "../table_picture";

interface MessagesProps {
  job: JobRanks;
  name: string;
  tab: Tab;
}

export function Messages({ job: { messages }, name, tab }: MessagesProps) {
  if (messages.length === 0) return null;
  return (
    <TablePicture
      title="What do ranks send to each other?"
      sub="a step, mean of the ranks that do"
      name={`messages ${name}`}
      label="Sends and receives"
      columns={columnsOf(messages, tab.meanings)}
      rows={messages}
      rowKey={({ group, bytes }) => `${group} ${bytes}`}
      maxRows={8}
      order={null}
      tab={tab}
    />
  );
}

const perStep = (sum: number, { steps, ranks }: Sent): number => sum / steps / ranks;

const exposedOf = ({ exposed_ns, running_ns }: Sent): number | null =>
  running_ns > 0 ? exposed_ns / running_ns : null;

function columnsOf(messages: readonly Sent[], meanings: Meanings): Column<Sent>[] {
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
    { ...figure("bytes", "job_bytes", 112, ({ bytes }) => bytes), missing: NO_SIZE },
    ...(groups ? [group] : []),
    figure("ranks", "job_ranks", 76, ({ ranks }) => ranks),
    figure("count", "job_count", 76, (row) => perStep(row.count, row)),
    figure("time", "job_message_ns", 92, (row) => perStep(row.running_ns, row)),
    figure("exposed", "job_exposed", 84, exposedOf),
  ];
}

const NO_SIZE = "The trace does not record how many bytes they send.";

/** Which rank waits for which in sends and receives: a row for each pair of ranks and each size. */
export function MessagePairs({ job: { pairs }, name, tab }: MessagesProps) {
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
    { ...figure("bytes", "job_bytes", 92, ({ bytes }) => bytes), missing: NO_SIZE },
    figure("count", "job_count", 76, (pair) => pair.count / pair.steps),
    time("transfer_ns", "job_pair_transfer_ns"),
    time("sender_wait_ns", "job_sender_wait_ns"),
    time("receiver_wait_ns", "job_receiver_wait_ns"),
  ];
}
