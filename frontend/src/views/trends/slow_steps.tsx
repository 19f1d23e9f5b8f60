/** The slow steps of the run in focus, and what took longer in them. */

import { useMemo } from "preact/hooks";
import type { Phrase, SlowStep } from "../../api.gen";
import { Swatch } from "../../colour";
import { tableData } from "../../components/data_table";
import { Picture } from "../../components/picture";
import { type Column, fileColumns, fileFields, Table } from "../../components/table";
import { widestOf } from "../../dom/text_width";
import { ns } from "../../format";
import type { Meanings } from "../../meanings";
import { sorting } from "../choices";
import type { Tab } from "../props";
import { figureColumn } from "../table_picture";
import { Hovered, type TrendSelection } from "./hover";
import { type Run, stepKey } from "./runs";

interface Row extends SlowStep {
  key: string;
  /** Unlike `key`, it also identifies the worker. */
  id: string;
  number: number;
  place: string;
}

interface SlowStepsProps {
  title: Phrase;
  rule: Phrase;
  run: Run;
  chosen: TrendSelection;
  tab: Tab;
}

/** The number of rows from which the table scrolls: it is next to the main picture. */
const MOST = 5;

export function SlowSteps({ title, rule, run, chosen, tab }: SlowStepsProps) {
  const rows = useMemo(() => rowsOf(run), [run]);
  const shown = useMemo(() => columns(tab.meanings, rows), [tab.meanings, rows]);
  return (
    <Picture
      title={title}
      details={rule}
      name={`slow steps of ${run.name}`}
      table={() => tableData(fileColumns(shown), rows)}
      drawn={false}
    >
      {rows.length > 0 && (
        <Hovered hover={chosen.hover}>
          {(hovered) => (
            <Table
              label={`Slow steps of run ${run.label}`}
              columns={shown}
              rows={rows}
              rowKey={(row) => row.id}
              maxRows={MOST}
              {...sorting(tab, "slow")}
              chosen={rows.find((row) => row.key === (hovered ?? chosen.selected))?.id}
              onChoose={(row) => chosen.select(row.key)}
              onHover={(row) => chosen.hover.set(row?.key ?? null)}
            />
          )}
        </Hovered>
      )}
    </Picture>
  );
}

function rowsOf(run: Run): Row[] {
  const rows = run.spans.flatMap((span) =>
    span.result.slow_steps.map((slow): Row => {
      const key = stepKey(span.number, slow.name);
      return {
        ...slow,
        key,
        id: `${span.id} ${slow.name}`,
        number: span.number,
        place: run.workers > 1 ? (span.rank === null ? span.worker : `rank ${span.rank}`) : "",
      };
    }),
  );
  return rows.sort((a, b) => b.duration_ns - a.duration_ns);
}

const partLabel = (meanings: Meanings, id: string) => meanings.parts.find((part) => part.id === id);

/** The width of the swatch and of the gaps, px. */
const SWATCH = 36;
const GAP = 10;

function columns(meanings: Meanings, rows: readonly Row[]): Column<Row>[] {
  const several = new Set(rows.map(({ number }) => number)).size > 1;
  const asideOf = ({ number, place }: Row) => [several ? `span ${number}` : "", place].filter(Boolean).join(", ");
  const names = rows.map((row) => `${row.name} ${asideOf(row)}`.trim());
  const grown = widestOf(rows.map((row) => `${partLabel(meanings, row.grew)?.label ?? row.grew} +${ns(row.grew_ns)}`));
  return [
    {
      id: "step",
      label: "Step",
      width: `${Math.max(34, Math.round(widestOf(names)) + GAP)}px`,
      cell: (row) => (
        <>
          {row.name}
          {asideOf(row) && <span class="quiet"> {asideOf(row)}</span>}
        </>
      ),
      order: (row) => row.number * 1e9 + (Number(row.name) || 0),
      file: [...fileFields<Row>({ number: "Span" }, "count"), ...fileFields<Row>({ name: "Step" })],
    },
    {
      ...figureColumn("time", "Time", 72, "ns", (row) => row.duration_ns),
      file: fileFields<Row>({ duration_ns: "Step time", over_median_ns: "Over the median" }, "ns"),
    },
    {
      id: "grew",
      label: "What grew",
      width: `${Math.round(grown + SWATCH)}px`,
      order: (row) => row.grew_ns,
      cell: (row) => {
        const part = partLabel(meanings, row.grew);
        return (
          <span class="grew" data-hint={grewHint(row)}>
            <Swatch colour={part?.colour ?? "other"} hatched={part?.hatched ?? false} />
            {part?.label ?? row.grew} +{ns(row.grew_ns)}
          </span>
        );
      },
      file: [
        { label: "What grew", of: ({ grew }) => partLabel(meanings, grew)?.label ?? grew },
        ...fileFields<Row>({ grew_ns: "Growth" }, "ns"),
      ],
    },
    {
      id: "seen",
      label: "Longest event",
      extra: true, // its names need more room than there is next to the picture
      order: (row) => row.longest_event,
      file: [
        ...fileFields<Row>({ longest_event: "Longest event" }),
        ...fileFields<Row>({ longest_event_ns: "Its length" }, "ns"),
      ],
      cell: (row) =>
        row.longest_event !== null && (
          <span class="quiet" data-hint={row.longest_event}>
            {ns(row.longest_event_ns)} {row.longest_event}
          </span>
        ),
    },
  ];
}

const grewHint = (row: Row): string =>
  `${ns(row.over_median_ns)} longer than the median step` +
  (row.longest_event === null ? "" : `\nLongest event: ${ns(row.longest_event_ns)} ${row.longest_event}`);
