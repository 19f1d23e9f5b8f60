/**
 * One op: how long its calls last, when they run, its kernels, and the shapes and lines on which it spends its time.
 */

import { sum } from "d3-array";
import { rangeInTimeline } from "../../address/selection";
import type { OperatorDetail, OperatorRow } from "../../api.gen";
import { FigureBar } from "../../charts/bars/split_bar";
import { counts, factorOf } from "../../components/figures";
import { quoted } from "../../components/filter";
import { Picture } from "../../components/picture";
import { type Column, Table } from "../../components/table";
import { counted, ns, percent } from "../../format";
import { readingOf, totalsOf } from "../choices";
import { busyShare, CallsPicture, DetailPanel, LengthsPicture } from "../detail";
import { figureColumn } from "../table_picture";
import { type Grouping, groupingsOf, keyOf, type OperatorPart, shortKey, tableOf, wholeKey } from "./tables";

export function OpDetails({ op, close, ...part }: OperatorPart & { op: string; close(): void }) {
  const { result, tab } = part;
  const detail = result.details.find((each) => each.name === op);
  const toKernels = () => tab.update({ view: "gpu", by: "name,op", kernel: quoted(op), opened: null });
  return (
    <DetailPanel
      label="The chosen op"
      name={op}
      class="kernel-detail op-detail"
      title={<h2>{op}</h2>}
      leads={
        <>
          {detail && (
            <button class="button low" onClick={() => tab.update(rangeInTimeline(detail.longest))}>
              Longest call in the Timeline
            </button>
          )}
          {result.has_device && (
            <button class="button low" onClick={toKernels}>
              Its kernels in the GPU view
            </button>
          )}
        </>
      }
      close={close}
    >
      {detail ? (
        <div class="kernel-pictures">
          <LengthsPicture of={CALLS} lengths={detail.lengths} where=" on the host" name={part.name} />
          <CallsOverTime detail={detail} {...part} />
          <Kernels detail={detail} {...part} />
        </div>
      ) : (
        <p class="quiet">
          Single calls are kept for the {counted(result.details.length, "op")} with most time. This op is not one of
          them.
        </p>
      )}
      <div class="op-shares">
        {groupingsOf(result)
          .filter(({ id }) => id !== "name")
          .map((grouping) => (
            <Shares key={grouping.id} op={op} grouping={grouping} {...part} />
          ))}
      </div>
    </DetailPanel>
  );
}

const CALLS = { one: "call", many: "calls", colour: "cpu" } as const;

function CallsOverTime({ detail: { calls }, result, name }: OperatorPart & { detail: OperatorDetail }) {
  const title = `The host is in it for ${percent(busyShare(calls, result))} of the span`;
  const all = sum(calls.count);
  return (
    <CallsPicture
      of={CALLS}
      calls={calls}
      span={result}
      title={title}
      label={`${title}: ${counted(all, "call")}.`}
      timeLabel="Time in the op"
      name={name}
    />
  );
}

/** The kernels that the op and the ops inside it launch, each with a link to its own launches. */
function Kernels(props: OperatorPart & { detail: OperatorDetail }) {
  const {
    detail: { kernels, more_kernels: more },
    result,
    tab,
    name,
  } = props;
  if (!result.has_device) return null;
  const whole = sum(kernels, (each) => each.total_ns);
  const factor = factorOf("recording", readingOf(tab));
  return (
    <Picture
      title={kernels.length > 0 ? `It launches ${counted(kernels.length + more, "kernel")}` : "It launches no kernel"}
      sub={totalsOf(tab)}
      name={`kernels ${name}`}
      drawn={false}
      table={() => ({
        columns: [{ label: "Kernel" }, { label: "Launches", unit: "count" }, { label: "Total", unit: "ns" }],
        rows: kernels.map((each) => [each.name, each.count, each.total_ns]),
      })}
    >
      <ul class="op-kernels">
        {kernels.map((each) => (
          <li key={each.name}>
            <button
              class="link clip"
              data-hint={each.name}
              onClick={() => tab.update({ view: "gpu", opened: each.name, by: null })}
            >
              {each.short}
            </button>
            <span class="num">{counts(each.count * factor)}</span>
            <FigureBar segments={[{ share: each.total_ns / (whole || 1), colour: "kernel" }]}>
              {ns(each.total_ns * factor)}
            </FigureBar>
          </li>
        ))}
      </ul>
      {more > 0 && <p class="quiet small">and {counted(more, "more kernel")}</p>}
    </Picture>
  );
}

/**
 * The rows of another grouping that belong to this op, with their share of its own time. The share is of all of that
 * time: the table of that grouping has the largest rows of all ops and may leave out some of this one.
 */
function Shares({ op, grouping, result, tab, name }: OperatorPart & { op: string; grouping: Grouping }) {
  const where = tab.state.work ?? "ran";
  const rows = tableOf(result, grouping.id, where).rows.filter((row) => row.name === op);
  if (rows.length === 0) return null;
  const own = (row: OperatorRow) =>
    (result.has_device ? row.device_self_ns : null) || row.host_self_ns + row.runtime_ns;
  const onDevice = result.has_device && rows.some((row) => (row.device_self_ns ?? 0) > 0);
  const of = (row: OperatorRow) => (onDevice ? (row.device_self_ns ?? 0) : own(row));
  const listed = sum(rows, of);
  const all = tableOf(result, "name", where).rows.find((row) => row.name === op);
  const whole = Math.max(listed, all ? of(all) : 0);
  const columns: Column<OperatorRow>[] = [
    {
      id: "key",
      label: grouping.second,
      cell: ({ key }) => (
        <span data-hint={key === null ? undefined : wholeKey(grouping, key)}>
          {key === null ? "not recorded" : shortKey(grouping, key)}
        </span>
      ),
    },
    {
      id: "calls",
      label: "Calls",
      width: "56px",
      numeric: true,
      cell: (row) => counts(row.calls * factorOf("recording", readingOf(tab))),
    },
    figureColumn("share", onDevice ? "Share on GPU" : "Share on host", 92, "fraction", (row) =>
      whole > 0 ? of(row) / whole : null,
    ),
  ];
  return (
    <Picture
      title={`By ${grouping.second.toLowerCase()}`}
      sub={totalsOf(tab)}
      name={`${grouping.id} ${name}`}
      drawn={false}
      table={() => ({
        columns: [{ label: grouping.second }, { label: "Calls", unit: "count" }, { label: "Own time", unit: "ns" }],
        rows: rows.map((row) => [row.key, row.calls, of(row)]),
      })}
    >
      <Table
        label={`${grouping.second} of the chosen op`}
        columns={columns}
        rows={[...rows].sort((a, b) => of(b) - of(a))}
        rowKey={keyOf}
        maxRows={6}
      />
      {listed < whole && <p class="quiet small">{percent((whole - listed) / whole)} in rows that are not listed</p>}
    </Picture>
  );
}
