/** The figures of a span at the beginning of a view, each beside that of the other span where two are compared. */

import type { Neighbour, Phrase, Series, SpanHead } from "../api.gen";
import { SeriesTile, Tiles } from "../components/tile";
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

export function SeriesTiles({ label, tiles, page, tab, compared, remark }: SeriesTilesProps) {
  return (
    <Tiles label={label}>
      {tiles.map((series) => (
        <SeriesTile
          key={series.metric}
          series={series}
          remark={remark?.(series.metric)}
          head={page.head}
          neighbours={page.neighbours}
          meanings={tab.meanings}
          compared={comparedFigure(series, compared)}
        />
      ))}
    </Tiles>
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
