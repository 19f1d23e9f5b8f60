/** Which waits for a batch cost time, which hide behind the GPU, and what the loader does meanwhile. */

import { SeriesTile } from "../components/series_tile";
import { Sentence } from "../components/sentence";
import { Tiles } from "../components/tile";
import { useChosen } from "./chosen";
import { comparedFigure } from "./compared";
import { Activities } from "./data_loading/activities";
import { LoaderLanes } from "./data_loading/lanes";
import { StepLines } from "./data_loading/step_lines";
import { StepTable } from "./data_loading/step_table";
import type { SpanViewProps } from "./props";

export function DataLoading({ page, tab, compared }: SpanViewProps<"data_loading">) {
  const { result, head } = page;
  const chosen = useChosen(tab);
  const shared = { result, chosen, tab, name: `${head.run} ${head.worker} span ${head.number}` };
  return (
    <div class="view" data-view="data_loading">
      {result.tiles.length > 0 && (
        <Tiles label="Waiting for data in this span">
          {result.tiles.map((series) => (
            <SeriesTile key={series.metric} series={series} remark={result.tile_remarks[series.metric]} head={head} neighbours={page.neighbours} meanings={tab.meanings} compared={comparedFigure(series, compared)} />
          ))}
        </Tiles>
      )}
      {result.unknown ? (
        <section class="unknown">
          <h2><Sentence phrase={result.steps_title} /></h2>
          <p class="quiet"><Sentence phrase={result.unknown} /></p>
        </section>
      ) : (
        <div class="split">
          <div class="column">
            <StepTable {...shared} />
            {result.activities.length > 0 && <Activities result={result} tab={tab} name={shared.name} />}
          </div>
          <div class="column">
            {result.lanes && <LoaderLanes {...shared} lanes={result.lanes} />}
            <StepLines {...shared} />
          </div>
        </div>
      )}
    </div>
  );
}
