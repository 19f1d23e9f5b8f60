import { Chips } from "../../components/chips";
import type { Chosen } from "../chosen";
import type { Tab } from "../props";
import { stopTitle } from "./lines";
import type { Run } from "./runs";

interface OpenSpanProps {
  run: Run;
  chosen: Chosen;
  tab: Tab;
}

/** From the kept point to the views of its span. Its place stands before a point is kept. */
export function OpenSpan({ run, chosen, tab }: OpenSpanProps) {
  const [number, step] = (chosen.kept ?? "").split("/");
  const span = run.spans.find((each) => String(each.number) === number);
  const views = tab.meanings.views.filter((view) => view.id !== "trends");
  const open = (view: string) =>
    span &&
    tab.update({ view, run: span.run, worker: span.worker, span: String(span.number), step: step || null, zoom: null });
  return (
    <div class="open-span">
      {span ? (
        <Chips
          label={`Open ${stopTitle(chosen.kept!)} of ${run.name}`}
          name="Open in"
          chosen=""
          options={views.map(({ id, title }) => ({
            id,
            label: title,
            meaning: `${stopTitle(chosen.kept!)} of ${run.name}`,
          }))}
          choose={open}
        />
      ) : (
        <p class="quiet small">A press on a point keeps it, and opens its span here.</p>
      )}
    </div>
  );
}
