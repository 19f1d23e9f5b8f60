import type { AliveAt, AllocationRow, CategoryBytes, MemoryResult, Phrase, Reason } from "../../api.gen";
import { SplitBar } from "../../charts/bars/split_bar";
import { lineName } from "../../code_line";
import { type Filled, Swatch } from "../../colour";
import { tableData } from "../../components/data_table";
import { NoPicture, Picture } from "../../components/picture";
import { Sentence } from "../../components/sentence";
import { type Column, fileColumns, fileFields, Table } from "../../components/table";
import { NotYet } from "../../components/waiting";
import { hint } from "../../dom/hint";
import { bytes, count, counted, DASH, fine, percent } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { sorting } from "../choices";
import { titleOf } from "../props";
import { figuresOf } from "../table_picture";
import type { MemoryPart } from "./data";

/** What is alive at the peak, or at the instant that was clicked. */
export function Alive(part: MemoryPart) {
  const { result, device, place, titles, tab, name, instant, answer } = part;
  const shown = instant === null ? atPeak(part) : answer.page?.alive;
  const title: Phrase | string =
    instant === null
      ? titleOf({ titles }, `memory_parts.${place}`)
      : `What is alive at ${fine(instant - result.start_ns)}?`;
  if (instant === null && shown?.why_unknown && !device.whole)
    return <NoPicture title={title} why={tab.meanings.explain(shown.why_unknown)} />;
  return (
    <Picture
      title={title}
      sub={
        shown ? (
          <>
            {bytes(shown.allocated_bytes)} allocated{" "}
            {instant !== null && (
              <button class="link" onClick={() => tab.update({ instant: null })}>
                Show the peak
              </button>
            )}
          </>
        ) : undefined
      }
      name={`alive ${name}`}
      drawn={false}
      table={() => tableData(fileColumns(allocationColumns(tab.meanings, result)), shown?.rows ?? [])}
    >
      {shown ? (
        <>
          <Parts
            parts={shown.categories}
            total={shown.allocated_bytes}
            why={shown.why_unknown}
            meanings={tab.meanings}
          />
          {device.whole && <Largest {...part} shown={shown} />}
        </>
      ) : (
        <NotYet problem={answer.problem} reads="The trace is being read." />
      )}
    </Picture>
  );
}

interface KindsProps {
  label: string;
  listed: string;
  kinds: readonly (Filled & { id: string; label: string; meaning: string; bytes: number })[];
  /** The bytes of all of them. */
  total: number;
}

/** Kinds of memory as a bar, and as a list with the bytes and the share of each. */
export function Kinds({ label, listed, kinds, total }: KindsProps) {
  const parts = kinds.map((kind) => ({ ...kind, share: total ? kind.bytes / total : 0 }));
  return (
    <>
      <SplitBar
        label={label}
        parts={parts.map((part) => ({ ...part, title: `${part.label}, ${bytes(part.bytes)}` }))}
      />
      <ul class="memory-parts" aria-label={listed}>
        {parts.map((part) => (
          <li key={part.id} {...hint(part.meaning)}>
            <span class="k">
              <Swatch colour={part.colour} hatched={part.hatched} />
              {part.label}
            </span>
            <span class="v">
              {bytes(part.bytes)} <span>{percent(part.share)}</span>
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

const atPeak = ({ device }: MemoryPart): AliveAt => ({
  at_ns: device.peak.at_ns,
  allocated_bytes: device.peak.allocated_bytes,
  reserved_bytes: device.peak.reserved_bytes,
  categories: device.categories,
  why_unknown: device.why_unknown,
  rows: device.largest,
  more_rows: 0,
});

interface PartsProps {
  parts: readonly CategoryBytes[] | null;
  total: number;
  why?: Reason | null;
  meanings: Meanings;
}

/** Every kind of memory with its bytes; they add up to the total. */
export function Parts({ parts, total, why, meanings }: PartsProps) {
  if (parts === null) return <p class="quiet">{why && <Sentence phrase={meanings.explain(why)} />}</p>;
  const kinds = meanings.memory_parts.flatMap((kind) => {
    const part = parts.find(({ category }) => category === kind.id);
    if (!part) return [];
    const meaning = `${kind.meaning}${part.count > 0 ? ` Here: ${counted(part.count, "allocation")}.` : ""}`;
    return [{ ...kind, meaning, bytes: part.bytes }];
  });
  const shares = kinds.map((kind) => `${kind.label} ${percent(total ? kind.bytes / total : 0)}`).join(", ");
  return <Kinds label={`${bytes(total)}: ${shares}`} listed="Kinds of memory" kinds={kinds} total={total} />;
}

function Largest({ result, tab, shown }: MemoryPart & { shown: AliveAt }) {
  return (
    <>
      <Table
        label="Largest allocations"
        columns={allocationColumns(tab.meanings, result)}
        rows={shown.rows}
        rowKey={(row) => shown.rows.indexOf(row)}
        maxRows={10}
        empty="All of it is from before the recording."
        {...sorting(tab, "allocations", "-size")}
      />
      {shown.more_rows > 0 && <p class="quiet">{count(shown.more_rows)} smaller ones are not listed.</p>}
    </>
  );
}

export const madeIn = ({ op, outer_op }: AllocationRow): string =>
  op === null ? "outside of ops" : outer_op === null || outer_op === op ? op : `${op} in ${outer_op}`;

const codeOf = ({ module, line }: AllocationRow): string | null =>
  [module, line && lineName(line)].filter(Boolean).join(", ") || null;

const livesText = ({ lives_steps: steps, died_ns }: AllocationRow): string =>
  steps === null ? (died_ns === null ? "to the end" : DASH) : steps === 0 ? "its step" : `+${counted(steps, "step")}`;

/** The code that made an allocation. of: the allocation of a row. */
export const codeColumn = <Row,>(meanings: Meanings, of: (row: Row) => AllocationRow): Column<Row> => ({
  id: "code",
  ...columnHead(meanings, "memory_line"),
  order: (row) => codeOf(of(row)),
  hint: (row) => codeOf(of(row)),
  missing: "No call stack leads there; with_stack=True records them.",
  file: [
    { label: "Module", of: (row) => of(row).module },
    { label: "Line", of: (row) => of(row).line },
  ],
});

function allocationColumns(meanings: Meanings, { steps }: MemoryResult): Column<AllocationRow>[] {
  const spans = steps.flatMap(({ phase_spans }) => phase_spans.filter(({ inner }) => !inner));
  const phaseOf = ({ phase }: AllocationRow) =>
    spans.find((span) => span.phase === phase)?.label ?? (meanings.phases[phase] ?? phase).toLowerCase();
  const kind = (row: AllocationRow) => meanings.memory_parts.find(({ id }) => id === row.category);
  return [
    {
      id: "op",
      ...columnHead(meanings, "memory_op"),
      order: (row) => row.op,
      cell: madeIn,
      hint: madeIn,
      file: fileFields<AllocationRow>({ op: "Op", outer_op: "Outermost op" }),
    },
    codeColumn(meanings, (row) => row),
    {
      id: "kind",
      ...columnHead(meanings, "memory_kind"),
      width: "112px",
      order: (row) => row.category,
      cell: (row) => (
        <>
          <Swatch colour={kind(row)?.colour ?? "other"} hatched={kind(row)?.hatched ?? false} />{" "}
          {kind(row)?.label ?? row.category}
        </>
      ),
    },
    {
      id: "born",
      ...columnHead(meanings, "memory_born"),
      width: "112px",
      order: (row) => row.born_ns,
      cell: (row) => [row.step, phaseOf(row)].filter(Boolean).join(", "),
      file: fileFields<AllocationRow>({ step: "Step", phase: "Phase" }),
    },
    {
      id: "lives",
      ...columnHead(meanings, "memory_lives"),
      width: "80px",
      order: (row) => row.lives_steps,
      cell: livesText,
      file: fileFields<AllocationRow>({ lives_steps: "Later steps" }, "count"),
    },
    figuresOf<AllocationRow>(meanings)("size", "memory_size", 80, (row) => row.bytes),
  ];
}
