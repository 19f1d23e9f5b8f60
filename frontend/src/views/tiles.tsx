/** The figures of a span at the beginning of a view, each beside that of the other span where two are compared. */

import type { ComponentChildren } from "preact";
import type { Neighbour, Phrase, Series, SpanHead } from "../api.gen";
import { Details } from "../components/sentence";
import { SeriesTile, Tiles } from "../components/tile";
import { counted } from "../format";
import type { Meanings } from "../meanings";
import { sentence } from "../phrase";
import type { Tab } from "./props";

interface WithTiles {
  name: string;
  page: { result: { tiles: readonly Series[] } };
}

interface SeriesTilesProps {
  /** What the tiles are, for a screen reader. */
  label: string;
  tiles: readonly Series[];
  page: { head: SpanHead; neighbours: readonly Neighbour[] };
  tab: Tab;
  compared: WithTiles | null;
  /** Shown in place of a metric's change line. */
  remark?: (metric: string) => Phrase | undefined;
}

/** Figures without a value have no tile, but a line with their reasons; beside another span each has its place. */
export function SeriesTiles({ label, tiles, page, tab: { meanings }, compared, remark }: SeriesTilesProps) {
  const empty = compared ? [] : tiles.filter(({ value, reason }) => value === null && reason);
  return (
    <>
      <Tiles label={label}>
        {tiles
          .filter((series) => !empty.includes(series))
          .map((series) => (
            <SeriesTile
              key={series.metric}
              series={series}
              remark={remark?.(series.metric)}
              head={page.head}
              neighbours={page.neighbours}
              meanings={meanings}
              compared={comparedFigure(series, compared)}
            />
          ))}
      </Tiles>
      <Unknown figures={empty} meanings={meanings} />
    </>
  );
}

/** Figures that are not shown because they have no value: how many there are, and on demand which and why. */
export function Unknown({ figures, meanings }: { figures: readonly Series[]; meanings: Meanings }) {
  if (figures.length === 0) return null;
  const labels = figures.map(({ metric }) => meanings.metric(metric).label);
  const reasons = new Set(figures.flatMap(({ reason }) => (reason ? sentence(meanings.explain(reason)) : [])));
  return (
    <p class="quiet small aside">
      {counted(figures.length, "figure")} without values
      <Details text={`${labels.join(", ")}. ${[...reasons].join(" ")}`} />
    </p>
  );
}

/** The second figure of a tile; undefined where nothing is compared, or the other span lacks the tile. */
function comparedFigure(
  { metric }: Series,
  compared: WithTiles | null,
): { name: string; value: number | null } | undefined {
  const other = compared?.page.result.tiles.find((series) => series.metric === metric);
  return compared && other ? { name: compared.name, value: other.value } : undefined;
}

interface MoreProps {
  /** What is in it; false for a section that the page lacks. */
  of: readonly (string | false)[];
  /** The tables in it whose rows cards link to: such a link opens it. */
  tables?: readonly string[];
  tab: Tab;
  children: ComponentChildren;
}

/** Sections that a reader does not need at first sight, folded under one line that names them. */
export function More({ of, tables = [], tab: { state, update }, children }: MoreProps) {
  const open = state.more === "open" || tables.some((table) => state.mark?.startsWith(`${table}:`));
  return (
    <details
      class="fold"
      open={open}
      onToggle={({ currentTarget: { open: now } }) =>
        now !== open && update(now ? { more: "open" } : { more: null, mark: null })
      }
    >
      <summary>More: {of.filter(Boolean).join(", ")}</summary>
      {children}
    </details>
  );
}
