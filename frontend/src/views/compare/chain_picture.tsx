/** Experiments as stacked columns, in the order in which they were recorded. */

import { useMemo } from "preact/hooks";
import type { Parts, StepChange } from "../../api.gen";
import type { TipContent } from "../../charts/pointer/tip";
import { partRow } from "../../charts/pointer/tip";
import type { TableData } from "../../components/data_table";
import { tableData } from "../../components/data_table";
import { Keys, keyOfPart } from "../../components/keys";
import { Picture } from "../../components/picture";
import type { FileColumn } from "../../components/table";
import { nsColumn } from "../../components/table";
import { percent, type Scale, share } from "../../format";
import type { Meanings } from "../../meanings";
import { hiddenParts, keysOfHidden, readingOf } from "../choices";
import type { Tab } from "../props";
import type { Experiment } from "./chain_runs";
import { type ChainColumn, ChainColumns, type Line } from "./charts/chain_columns";
import { changeOf, intervalText, NOT_CLEAR, signed, stepScales } from "./difference";

interface ChainPictureProps {
  title: string;
  /** Which runs are shown, where some are left out. */
  order: string | null;
  group: readonly Experiment[];
  choose(of: Experiment): void;
  /** Moves an experiment of the group to another place; undefined: their order is fixed. */
  move: ((from: number, to: number) => void) | undefined;
  tab: Tab;
}

export function ChainPicture({ title, order, group, choose, move, tab }: ChainPictureProps) {
  const { meanings } = tab;
  const { unit } = readingOf(tab);
  const off = hiddenParts(tab.state);
  const scales = useMemo(
    () =>
      stepScales(
        group.map(({ link }) => link.step_ns),
        unit,
      ),
    [group, unit],
  );
  const scaleOf = ({ link }: Experiment) => scales.of(link.step_ns);
  const columns = useMemo(
    () => group.map((each) => shownOf(columnOf(each, meanings, scales.of(each.link.step_ns)), off)),
    [group, meanings, scales, off],
  );
  const shown = meanings.parts.filter(({ id }) => group.some(({ link }) => link.parts_ns[id as keyof Parts] > 0));
  return (
    <Picture
      title={title}
      below
      sub={order ?? undefined}
      details={
        "A bar is the mean step. The figures below it are its change from the one before and from the first." +
        (order ? " Of many runs the newest are shown, and those that are compared: choose others in Trends." : "") +
        (move ? " Drag a column to another place, or choose it and press Shift with an arrow key." : "")
      }
      name={`${title.replace("?", "")} experiments`}
      table={() => tableOf(group, meanings)}
    >
      <ChainColumns
        label={group.map((each) => `${each.name} ${scaleOf(each).text(each.link.step_ns)}`).join(", ")}
        columns={columns}
        scale={scales.all}
        choose={(column) => choose(group[column]!)}
        move={move}
        tip={(column) => tipOf(group[column]!, meanings, scaleOf(group[column]!))}
      />
      <Keys
        label="Parts of the mean step"
        keys={shown.map(keyOfPart)}
        off={off}
        choose={(next) => tab.update(keysOfHidden(next))}
      />
    </Picture>
  );
}

/** The column without hidden parts. The lines above it stay: they refer to the whole step. */
const shownOf = (column: ChainColumn, off: ReadonlySet<string>): ChainColumn => ({
  ...column,
  parts: column.parts.filter(({ id }) => !off.has(id)),
});

function columnOf({ name, role, link, of }: Experiment, meanings: Meanings, scale: Scale): ChainColumn {
  return {
    id: of.spans.join(),
    name,
    mark: role,
    parts: partsOf(link.parts_ns, meanings),
    lines: [
      [scale.text(link.step_ns), scale.number(link.step_ns)],
      ...changeLines(link.from_previous, link.from_first, scale),
    ],
  };
}

function changeLines(previous: StepChange | null, first: StepChange | null, scale: Scale): Line[] {
  if (previous === null) return [["first"]];
  const moved = signed(changeOf(previous), scale);
  return [
    [moved, moved.replace(/\s.*$/, "")],
    previous.distinguishable === false ? ["not distinguishable", "unclear"] : [intervalText(previous, scale)],
    first === null ? [] : [`${relative(first)} from first`, relative(first)],
  ];
}

/** "-31 %" */
function relative({ base_ns, candidate_ns }: StepChange): string {
  const part = base_ns ? (candidate_ns - base_ns) / base_ns : 0;
  const written = share(Math.abs(part));
  return part === 0 || written.startsWith("<") ? written : (part < 0 ? "-" : "+") + written;
}

const partsOf = (parts: Parts, meanings: Meanings) =>
  meanings.parts.map(({ id, colour, hatched }) => ({ id, colour, hatched, value: parts[id as keyof Parts] }));

function tipOf({ name, link }: Experiment, meanings: Meanings, scale: Scale): TipContent {
  const parts = meanings.parts.filter(({ id }) => link.parts_ns[id as keyof Parts] > 0);
  return {
    title: name,
    rows: [
      { name: "Mean step", value: scale.text(link.step_ns) },
      ...changeRows("Before", link.from_previous, scale),
      ...changeRows("First", link.from_first, scale),
      ...parts.map((part) => {
        const ns = link.parts_ns[part.id as keyof Parts];
        return partRow(part, `${scale.text(ns)}, ${percent(ns / link.step_ns)}`);
      }),
    ],
  };
}

function changeRows(against: "Before" | "First", change: StepChange | null, scale: Scale) {
  const name = against === "Before" ? "Against the one before" : "Against the first";
  if (change === null) return [];
  const interval = change.low === null ? "" : ` (${intervalText(change, scale)})`;
  const noise = change.distinguishable === false ? `, ${NOT_CLEAR}` : "";
  return [{ name, value: `${signed(changeOf(change), scale)}${interval}${noise}` }];
}

function tableOf(group: readonly Experiment[], meanings: Meanings): TableData {
  const changes = (id: "from_previous" | "from_first", against: string) => [
    nsColumn<Experiment>(`Change from ${against}`, ({ link }) => link[id] && changeOf(link[id])),
    nsColumn<Experiment>(`95 % from, against ${against}`, ({ link }) => link[id]?.low ?? null),
    nsColumn<Experiment>(`95 % to, against ${against}`, ({ link }) => link[id]?.high ?? null),
  ];
  const columns: FileColumn<Experiment>[] = [
    { label: "Run", of: ({ of }) => of.run },
    { label: "Steps", unit: "count", of: ({ link }) => link.steps },
    nsColumn("Mean step", ({ link }) => link.step_ns),
    ...changes("from_previous", "the one before"),
    ...changes("from_first", "the first"),
    ...meanings.parts.map(({ id, label }) =>
      nsColumn<Experiment>(label, ({ link }) => link.parts_ns[id as keyof Parts]),
    ),
  ];
  return tableData(columns, group);
}
