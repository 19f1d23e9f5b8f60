/**
 * A memory snapshot: what is in use over time, which code allocated it, what keeps free memory, and what has grown.
 */

import { useMemo } from "preact/hooks";
import type { DeviceSnapshot, FlamePage, LineGrowth, LineRow, MemoryBins, SnapshotPage } from "../../../api.gen";
import { Chips } from "../../../components/chips";
import { Code } from "../../../components/copy";
import { Note } from "../../../components/note";
import { Picture } from "../../../components/picture";
import { Sentence } from "../../../components/sentence";
import type { Column } from "../../../components/table";
import { bytes, change, count, counted, fine, scaleFor } from "../../../format";
import type { TimeRange } from "../../../time_range";
import { ShowAll } from "../../chips";
import { zoomWithin } from "../../choices";
import { flameTable } from "../../operators/flame/picture";
import { without } from "../../operators/flame/shapes";
import { howToRead, Stage, useKinds } from "../../operators/flame/stage";
import { treeOf } from "../../operators/flame/tree";
import { figureColumn, TablePicture } from "../../table_picture";
import { Parts } from "../alive";
import { MemoryChart } from "../charts/memory_chart";
import { CurveKeys, curveOf, curveTable, Shown } from "../curve";
import { nameOf, SnapshotChoice, type SnapshotPart, type SnapshotProps } from "./choice";
import { Reserved, Segments } from "./segments";

export function Snapshot(props: SnapshotProps) {
  const { page, entry, tab } = props;
  const device = page.summary.devices[page.device];
  const ofRun = tab.index.runs.some(({ name }) => name === entry.run) ? entry.run : null;
  return (
    <div class="view" data-view="memory">
      <SnapshotChoice run={ofRun} chosen={entry.id} tab={tab}>
        {page.summary.devices.length > 1 && (
          <Chips
            label="Device"
            name="Device"
            chosen={String(page.device)}
            choose={(id) => tab.update({ memory: id === "0" ? null : Number(id), zoom: null, instant: null })}
            options={page.summary.devices.map((each, at) => ({ id: String(at), label: `GPU ${each.device}` }))}
          />
        )}
      </SnapshotChoice>
      {page.out_of_memory.slice(0, -1).map((each, at) => (
        <Note key={at} cause="Before that.">
          <Sentence phrase={each} />
        </Note>
      ))}
      <Lost page={page} />
      {device && <OfDevice {...props} device={device} name={`${entry.run} ${entry.name} GPU ${device.device}`} />}
    </div>
  );
}

function OfDevice(part: SnapshotPart) {
  const { page, tab } = part;
  const zoom = zoomWithin(tab.state, { from: 0, to: page.end_ns });
  return (
    <>
      {page.curve ? <SnapshotCurve {...part} curve={page.curve} zoom={zoom} /> : <NoHistory />}
      {page.stacks && <Stacks {...part} stacks={page.stacks} />}
      <Reserved {...part} />
      {page.strips.length > 0 && <Segments {...part} />}
      <div class="split memory-split">
        <Lines {...part} />
        <Growth {...part} />
      </div>
    </>
  );
}

const RECORD = "torch.cuda.memory._record_memory_history()";

function NoHistory() {
  return (
    <section class="unknown">
      <h2>How did it come to that?</h2>
      <p class="quiet">No history was recorded. This call, before the training, records it.</p>
      <Code text={RECORD} />
    </section>
  );
}

function Lost({ page: { summary, timed, curve } }: { page: SnapshotPage }) {
  const lost = Object.entries(summary.lost).map(([kind, number]) => `${number} ${kind}`);
  return (
    <>
      {lost.length > 0 && (
        <Note cause="Not all of it was read.">They are not as PyTorch writes them: {lost.join(", ")}.</Note>
      )}
      {!timed && curve && (
        <Note cause="No times were recorded.">Entries are shown in their order, a microsecond each.</Note>
      )}
    </>
  );
}

const TITLE = "How much is in use, and how much reserved?";

function SnapshotCurve(part: SnapshotPart & { curve: MemoryBins; zoom: TimeRange | null }) {
  const { page, device, tab, name, curve, zoom } = part;
  const whole = { from: 0, to: page.end_ns };
  return (
    <Picture
      title={TITLE}
      sub={
        <>
          <Shown zoom={zoom} whole={whole} />, {count(device.entries)} entries <ShowAll zoom={zoom} tab={tab} />
        </>
      }
      name={`memory ${name}`}
      table={() => curveTable(0, curve)}
    >
      <MemoryChart
        label={spoken(device)}
        whole={whole}
        zoom={zoom}
        setZoom={(next) => tab.update({ zoom: next })}
        steps={[]}
        phases={[]}
        curve={curveOf(curve)}
        peak={{ at: page.peak_ns, bytes: device.peak_in_use_bytes }}
        calls={[]}
        instant={tab.state.instant ?? null}
        choose={(at) => tab.update({ instant: Math.round(at) })}
        scale={scaleFor(page.end_ns, "ns")}
      />
      <CurveKeys used="in use" cached />
    </Picture>
  );
}

const spoken = ({ peak_in_use_bytes: peak, in_use_bytes: end }: DeviceSnapshot): string =>
  `${TITLE} ${bytes(peak)} in use at the peak, ${bytes(end)} at the end.`;

/** The stacks of what is in use at the peak, or at the moment that was clicked, as a flame graph by bytes. */
function Stacks({ page, tab, name, stacks }: SnapshotPart & { stacks: FlamePage }) {
  const hidden = useKinds(tab.state.kinds);
  const whole = useMemo(() => treeOf(stacks, "bytes"), [stacks]);
  const tree = useMemo(() => without(whole, hidden), [whole, hidden]);
  const chosen = tab.state.instant !== undefined;
  const title = chosen ? `What is in use at ${fine(page.at_ns)}?` : "What fills the peak?";
  return (
    <Picture
      title={title}
      sub={
        <>
          {bytes(page.at_bytes)} in {counted(page.at_count, "allocation")}{" "}
          {chosen && (
            <button class="link" onClick={() => tab.update({ instant: null, frame: null })}>
              Show the peak
            </button>
          )}
        </>
      }
      details={howToRead(stacks)}
      name={`stacks ${name}`}
      table={() => flameTable(tree, "bytes")}
    >
      <Parts parts={page.at_categories} total={page.at_bytes} meanings={tab.meanings} />
      <Stage
        tree={tree}
        whole={whole}
        hidden={hidden}
        hide={(kinds) => tab.update({ kinds: kinds.size > 0 ? kinds : null })}
        hits={null}
        text={bytes}
        label={title}
        frame={tab.state.frame}
        zoomTo={(frame) => tab.update({ frame })}
      />
    </Picture>
  );
}

/** Which lines hold memory, and how long their allocations live. */
function Lines({ device, tab, name }: SnapshotPart) {
  return (
    <TablePicture
      title="Which lines hold memory?"
      name={`lines ${name}`}
      label="Lines"
      columns={COLUMNS}
      rows={device.peak_by_line}
      rowKey={keyOf}
      maxRows={12}
      empty="Nothing was allocated."
      order={["snapshot_lines", "-peak"]}
      tab={tab}
    />
  );
}

const keyOf = ({ line, function: made }: Pick<LineRow, "line" | "function">): string => `${line} ${made}`;

const lineText = ({ line, function: made }: Pick<LineRow, "line" | "function">): string =>
  line === null ? "not recorded" : made === null || made === line ? line : `${line} ${made}`;

const COLUMNS: readonly Column<LineRow>[] = [
  { id: "line", label: "Line", order: (row) => row.line, cell: lineText, hint: lineText },
  {
    ...figureColumn("peak", "Peak", 88, "bytes", (row) => row.bytes, { siblings: "bytes" }),
    meaning: "In use when most is.",
  },
  {
    ...figureColumn("end", "End", 80, "bytes", (row) => row.end_bytes, { siblings: "bytes" }),
    meaning: "In use when the snapshot was made.",
  },
  {
    ...figureColumn("made", "Allocated", 72, "count", (row) => row.made_count),
    meaning: "Allocations since the oldest entry, also those that are freed again.",
  },
  {
    ...figureColumn("life", "Lifetime", 72, "ns", (row) => (row.lifetime_us === null ? null : 1_000 * row.lifetime_us)),
    meaning: "The mean of those allocations that are freed again.",
    missing: "None of its allocations was freed while entries were recorded.",
  },
];

const NONE = "none";

function Growth({ page: { growth }, entry, tab, name }: SnapshotPart) {
  const others = tab.index.snapshots.filter(({ id, run }) => id !== entry.id && run === entry.run);
  if (others.length === 0) return null;
  const since = others.find(({ id }) => id === tab.state.since);
  return (
    <TablePicture
      title={since ? `What has grown since ${nameOf(since)}?` : "What has grown?"}
      sub={growth ? `${change(0, growth.more_bytes, "bytes")} in use` : undefined}
      name={`growth ${name}`}
      label="Growth by line"
      columns={GROWTH_COLUMNS}
      rows={growth?.lines ?? []}
      rowKey={keyOf}
      maxRows={12}
      empty={since ? "Each line holds as much as there." : "Choose a snapshot to compare with."}
      order={["snapshot_growth", "-more"]}
      tab={tab}
      above={
        <Chips
          label="Compare with"
          name="Since"
          chosen={since?.id ?? NONE}
          choose={(id) => tab.update({ since: id === NONE ? null : id })}
          options={[{ id: NONE, label: "none" }, ...others.map((each) => ({ id: each.id, label: nameOf(each) }))]}
        />
      }
    />
  );
}

const GROWTH_COLUMNS: readonly Column<LineGrowth>[] = [
  { id: "line", label: "Line", order: (row) => row.line, cell: lineText, hint: lineText },
  figureColumn("before", "Before", 80, "bytes", (row) => row.before_bytes, { siblings: "bytes" }),
  figureColumn("now", "Now", 80, "bytes", (row) => row.after_bytes, { siblings: "bytes" }),
  {
    id: "more",
    numeric: true,
    label: "Change",
    width: "88px",
    order: (row) => row.after_bytes - row.before_bytes,
    cell: (row) => change(row.before_bytes, row.after_bytes, "bytes"),
  },
];
