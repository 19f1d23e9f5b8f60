import { sum } from "d3-array";
import { rangeInTimeline } from "../../address/selection";
import type { HostResult, PhaseRow, SiteRow } from "../../api.gen";
import { type Column, type Foot, nsColumn } from "../../components/table";
import { hint } from "../../dom/hint";
import { share } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { totalsOf } from "../choices";
import { differences } from "../compare/compared_columns";
import { type HostPart, titleOf } from "../props";
import { figureColumn, figuresOf, nameColumn, TablePicture } from "../table_picture";
import { IdleCell, idleOf, reasonOf } from "./reasons";

/** Where work is launched, and how long the GPU idled before it. */
export function Sites({ result, titles, tab, name, compared = null }: HostPart) {
  const rows = result.sites.filter((site) => site.launches > 0 || idleOf(site.idle_ns) > site.idle_ns.tail);
  const bounds = boundsOf(result.phases);
  const all = { result, rows, bounds, meanings: tab.meanings };
  const open = (row: SiteRow) => row.examples[0] && tab.update(rangeInTimeline(row.examples[0]));
  return (
    <TablePicture
      title={titleOf({ titles }, "sites")}
      sub={totalsOf(tab)}
      name={`launched from ${name}`}
      label="GPU idle time by the launch that ended it"
      columns={[...columnsOf(all), ...differenceOf(result.sites, compared)]}
      rows={rows}
      rowKey={(row) => row.site}
      mark={["sites", (row) => row.site]}
      order="sites"
      tab={tab}
      onChoose={open}
      foot={footOf(all)}
      empty="No work is launched in the steps."
    />
  );
}

interface All {
  result: HostResult;
  rows: readonly SiteRow[];
  bounds: ReadonlyMap<string, string>;
  meanings: Meanings;
}

const boundsOf = (phases: readonly PhaseRow[]): ReadonlyMap<string, string> =>
  new Map(phases.map((phase) => [phase.phase, phase.bound]));

/** A column of verdicts is only useful where they differ. */
export function verdictsDiffer(rows: readonly SiteRow[], bounds: ReadonlyMap<string, string>): boolean {
  return new Set(rows.filter((row) => row.launches > 0).map((row) => bounds.get(row.phase))).size > 1;
}

const NO_LAUNCHES = "No launch from here is recorded with the call that made it.";

function columnsOf({ rows, bounds, meanings }: All): Column<SiteRow>[] {
  const longest = rows.reduce((most, row) => Math.max(most, idleOf(row.idle_ns)), 0);
  const differ = verdictsDiffer(rows, bounds);
  const verdict: Column<SiteRow> = {
    id: "verdict",
    ...columnHead(meanings, "site_bound"),
    width: "136px",
    order: (row) => bounds.get(row.phase) ?? null,
    cell: (row) => meanings.bounds[bounds.get(row.phase) ?? ""] ?? "",
  };
  return [
    nameColumn("site", "Launched from", (row) => row.label),
    ...(differ ? [verdict] : []),
    figureColumn("launches", "Launches", 66, "number", (row) => row.launches, { adds: "step" }),
    {
      ...figureColumn("starved", "Starved", 60, "fraction", (row) => row.starved_share),
      meaning: meanings.metric("starved_share").meaning,
      cell: (row) => share(row.starved_share),
      missing: NO_LAUNCHES,
    },
    {
      ...figureColumn("ahead", "Run-ahead", 74, "ns", (row) => row.run_ahead_p50_ns),
      meaning: meanings.metric("run_ahead_p50").meaning,
      missing: NO_LAUNCHES,
    },
    {
      ...figuresOf<SiteRow>(meanings)("idle", "site_idle_ns", 124, (row) => idleOf(row.idle_ns), { adds: "step" }),
      cell: ({ idle_ns: idle }, _, write) => (
        <IdleCell idle={idle} reasons={meanings.idle_reasons} longest={longest} write={write} />
      ),
      file: [
        nsColumn("GPU works", (row) => row.device_ns),
        nsColumn("GPU idle", (row) => idleOf(row.idle_ns)),
        nsColumn("Behind blocking calls", (row) => row.bubble_ns),
        ...meanings.idle_reasons.map((reason) =>
          nsColumn<SiteRow>(reason.label, (row) => reasonOf(row.idle_ns, reason)),
        ),
      ],
    },
  ];
}

const differenceOf = (rows: readonly SiteRow[], compared: HostPart["compared"]) =>
  differences(compared, compared?.page.result.sites, {
    rows,
    keyOf: (row) => row.site,
    ns: (row) => idleOf(row.idle_ns),
  });

/** All launches, and the idle time at the end of the steps, after the last launch; null where one row is all. */
function footOf({ result, rows, meanings }: All): Foot | null {
  const { launches } = result;
  const idle = sum(result.sites, (row) => idleOf(row.idle_ns));
  const rest = idle - sum(rows, (row) => idleOf(row.idle_ns));
  if (rows.length === 1 && rest === 0) return null;
  const tail = meanings.idle_reasons.find((reason) => reason.id === "tail")?.meaning;
  return {
    name: <span {...hint(rest > 0 ? tail : null)}>{rest > 0 ? "All, and after the last work" : "All"}</span>,
    cells: {
      launches: sum(rows, (row) => row.launches),
      starved: share(launches?.starved_share ?? null),
      ahead: launches?.run_ahead_p50_ns,
      idle,
    },
  };
}
