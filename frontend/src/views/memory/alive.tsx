import type { AliveAt, AllocationRow, CategoryBytes, MemoryResult, Phrase, Reason } from "../../api.gen";
import { SplitBar } from "../../charts/bars/split_bar";
import { Swatch } from "../../colour";
import { tableData } from "../../components/data_table";
import { Picture } from "../../components/picture";
import { Sentence } from "../../components/sentence";
import { type Column, fileColumns, fileFields, Table } from "../../components/table";
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
        <p class="quiet">
          {answer.problem ? `${answer.problem.problem}. ${answer.problem.hint}` : "The trace is being read …"}
        </p>
      )}
    </Picture>
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
  why: Reason | null;
  meanings: Meanings;
}

/** Every kind of memory with its bytes; they add up to the total. */
function Parts({ parts, total, why, meanings }: PartsProps) {
  if (parts === null) return <p class="quiet">{why && <Sentence phrase={meanings.explain(why)} />}</p>;
  const shown = meanings.memory_parts.flatMap((meaning) => {
    const part = parts.find(({ category }) => category === meaning.id);
    return part ? [{ meaning, ...part, share: total ? part.bytes / total : 0 }] : [];
  });
  const label = shown.map(({ meaning, share }) => `${meaning.label} ${percent(share)}`).join(", ");
  return (
    <>
      <SplitBar
        label={`${bytes(total)}: ${label}`}
        parts={shown.map(({ meaning, share, bytes: size }) => ({
          ...meaning,
          share,
          title: `${meaning.label}, ${bytes(size)}`,
        }))}
        off={new Set()}
      />
      <ul class="memory-parts" aria-label="Kinds of memory">
        {shown.map(({ meaning, bytes: size, count: number, share }) => (
          <li
            key={meaning.id}
            {...hint(`${meaning.meaning}${number > 0 ? ` Here: ${counted(number, "allocation")}.` : ""}`)}
          >
            <span class="k">
              <Swatch colour={meaning.colour} hatched={meaning.hatched} />
              {meaning.label}
            </span>
            <span class="v">
              {bytes(size)} <span>{percent(share)}</span>
            </span>
          </li>
        ))}
      </ul>
    </>
  );
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

export const codeOf = ({ module, line }: AllocationRow): string | null =>
  [module, line].filter((each) => each !== null).join(", ") || null;

const livesText = ({ lives_steps: steps, died_ns }: AllocationRow): string =>
  steps === null ? (died_ns === null ? "to the end" : DASH) : steps === 0 ? "its step" : `+${counted(steps, "step")}`;

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
      cell: (row) => <span data-hint={madeIn(row)}>{madeIn(row)}</span>,
      file: fileFields<AllocationRow>({ op: "Op", outer_op: "Outermost op" }),
    },
    {
      id: "code",
      ...columnHead(meanings, "memory_line"),
      order: codeOf,
      cell: (row) => <span data-hint={codeOf(row) ?? undefined}>{codeOf(row) ?? DASH}</span>,
      missing: "No call stack leads there; with_stack=True records them.",
      file: fileFields<AllocationRow>({ module: "Module", line: "Line" }),
    },
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
