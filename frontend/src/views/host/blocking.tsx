import { rangeInTimeline } from "../../address/selection";
import type { BlockingRow, HostResult } from "../../api.gen";
import { lineName } from "../../code_line";
import { Filter, matchingRows, Unmatched } from "../../components/filter";
import { type Column, fileFields } from "../../components/table";
import { counted, DASH } from "../../format";
import { columnHead } from "../../meanings";
import { totalsOf } from "../choices";
import { differences } from "../compare/compared_columns";
import { type HostPart, type Tab, titleOf } from "../props";
import { figureColumn, figuresOf, nameColumn, TablePicture, timesOf } from "../table_picture";

/** Calls that block the host, and how long the GPU idles for each. */
export function BlockingCalls(part: HostPart) {
  const { result, titles, tab, name, compared = null } = part;
  const { blocking } = result;
  const typed = tab.state.calls ?? "";
  const change = (calls: string | null) => tab.update({ calls });
  const rows = matching(blocking, typed);
  return (
    <TablePicture
      title={titleOf(part, "blocking")}
      details={titles.blocking_remark}
      name={`blocking calls ${name}`}
      sub={totalsOf(tab)}
      tools={
        <Filter
          label="Filter by op, call, phase, module or line"
          placeholder="Filter calls"
          typed={typed}
          change={change}
          shown={rows.length}
          all={blocking.length}
          folded={result.more_blocking}
        />
      }
      label="Blocking calls"
      columns={(width) => [...columnsOf(blocking, labelsOf(result), tab, width), ...difference(blocking, compared)]}
      file={[
        ...fileFields<BlockingRow>({ bytes: "Copied" }, "bytes"),
        { label: "GPU", of: (row) => String(row.device) },
      ]}
      rows={rows}
      rowKey={blockingKey}
      mark={["blocking", (row) => String(row.worst_start_ns)]}
      order={["blocking", "-bubble"]}
      maxRows={7}
      tab={tab}
      onChoose={(row) =>
        tab.update(rangeInTimeline({ step: row.worst_step, start_ns: row.worst_start_ns, end_ns: row.worst_end_ns }))
      }
      empty={<Unmatched what="No call" typed={typed} change={change} />}
      foot={
        result.more_blocking > 0 && {
          name: `${counted(result.more_blocking, "more kind")} of blocking call`,
          cells: {},
        }
      }
    />
  );
}

const difference = (rows: readonly BlockingRow[], compared: HostPart["compared"]) =>
  differences(compared, compared?.page.result.blocking, { rows, keyOf: blockingKey, ns: (row) => row.bubble_ns });

type Labels = ReadonlyMap<string, string>;

const labelsOf = ({ phases, sites }: HostResult): Labels =>
  new Map([
    ...phases.map(({ phase, label }) => [phase, label] as const),
    ...sites.map(({ site, label }) => [site, label] as const),
  ]);

const placeOf = ({ site, phase }: BlockingRow, labels: Labels): string =>
  labels.get(site) ?? labels.get(phase) ?? phase;

/** In a table narrower than this, px, the column is only available through the menu. */
const ROOM = { phase: 800, call: 560, count: 460 } as const;

function columnsOf(
  all: readonly BlockingRow[],
  sites: Labels,
  { meanings, update }: Tab,
  width: number,
): Column<BlockingRow>[] {
  const longest = all.reduce((most, row) => Math.max(most, row.bubble_ns), 0);
  const figure = figuresOf<BlockingRow>(meanings);
  return [
    {
      id: "op",
      label: "Op",
      order: (row) => row.op ?? row.call,
      cell: (row) => <Op row={row} />,
      file: fileFields<BlockingRow>({ op: "Op", outer_op: "Outermost op" }),
    },
    {
      id: "phase",
      label: "Launched from",
      width: "15%",
      extra: width < ROOM.phase,
      order: (row) => placeOf(row, sites),
      hint: (row) => row.user_range,
      file: fileFields<BlockingRow>({ phase: "Phase", user_range: "Range" }),
    },
    nameColumn("call", "Call", (row) => row.call, {
      width: "17%",
      extra: width < ROOM.call,
      file: fileFields<BlockingRow>({ call: "Call", kind: "Kind" }),
    }),
    {
      id: "line",
      ...columnHead(meanings, "blocking_source"),
      width: width < ROOM.call ? "32%" : "22%",
      order: (row) => madeBy(row)[0] ?? null,
      cell: (row) => <MadeBy row={row} openLine={(line) => update({ view: "operators", line, mark: null })} />,
      file: fileFields<BlockingRow>({
        module: "Module",
        source: "Source",
        forward_op: "Forward op",
        forward_module: "Forward module",
        forward_source: "Forward source",
        collective: "Waits for",
      }),
    },
    {
      ...figureColumn("count", "Count", 44, "number", (row) => row.count, { adds: "step" }),
      extra: width < ROOM.count,
    },
    figure("blocked", "blocked_ns", 66, (row) => row.blocked_ns, TIME),
    {
      ...figure("bubble", "bubble_ns", width < ROOM.phase ? 104 : 132, (row) => row.bubble_ns, TIME),
      bar: ({ kind, bubble_ns }) => [
        { colour: "blocking", hatched: kind === "allocator", share: longest ? bubble_ns / longest : 0 },
      ],
    },
  ];
}

const TIME = timesOf("step");

/** The op, and in faint type the op around it and the collective that it waits for. */
function Op({ row }: { row: BlockingRow }) {
  const around = row.outer_op !== row.op && row.outer_op && `in ${row.outer_op}`;
  const more = [around, row.collective && `waits for ${row.collective}`].filter(Boolean);
  return (
    <span data-hint={[row.op, ...more].filter(Boolean).join("\n")}>
      {row.op ?? "outside any op"}
      {more.length > 0 && <span class="faint">, {more.join(", ")}</span>}
    </span>
  );
}

/** A line of code links to its source text. */
function MadeBy({ row, openLine }: { row: BlockingRow; openLine(line: string): void }) {
  const [line, ...places] = madeBy(row);
  const leads = line !== undefined && (line === row.forward_source || line === row.source);
  const [first, ...rest] = [line ?? "", ...places].map(lineName);
  const open = (event: MouseEvent) => {
    event.stopPropagation(); // the row opens something else
    openLine(line!);
  };
  return (
    <span class="unbroken" data-hint={[first, ...rest].filter(Boolean).join("\n")}>
      {leads ? (
        <button class="link" onClick={open}>
          {first}
        </button>
      ) : (
        <span class="clip">{first || DASH}</span>
      )}
      {rest[0] && <span class="faint"> {rest[0]}</span>}
    </span>
  );
}

export function blockingKey(row: BlockingRow): string {
  return [
    row.op,
    row.outer_op,
    row.site,
    row.call,
    row.user_range,
    row.module,
    row.source,
    row.forward_op,
    row.forward_module,
    row.forward_source,
    row.collective,
    row.device,
  ].join("\n");
}

/** The line or module to change, the best one first: from the forward pass, where the call is in the backward pass. */
export function madeBy(row: BlockingRow): string[] {
  const forward = [row.forward_source, row.forward_module, row.forward_op && `forward ${row.forward_op}`];
  return [...forward, row.source, row.module, row.user_range].filter((each): each is string => Boolean(each));
}

export const matching = (rows: readonly BlockingRow[], typed: string): readonly BlockingRow[] =>
  matchingRows(rows, typed, (row) => [row.op, row.outer_op, row.call, row.phase, row.site, ...madeBy(row)]);
