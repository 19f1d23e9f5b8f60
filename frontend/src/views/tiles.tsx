import type { Series } from "../api.gen";

interface WithTiles {
  name: string;
  page: { result: { tiles: readonly Series[] } };
}

/** What a tile shows as the second figure; undefined where nothing is compared, or the other span lacks the tile. */
export function comparedFigure(
  { metric }: Series,
  compared: WithTiles | null,
): { name: string; value: number | null } | undefined {
  const other = compared?.page.result.tiles.find((series) => series.metric === metric);
  return compared && other ? { name: compared.name, value: other.value } : undefined;
}
