/**
 * From which span on a figure is another one, in sentences: the marks in the picture above stand at the same places.
 */

import type { Change } from "../../api.gen";
import type { TableData } from "../../components/data_table";
import { Picture } from "../../components/picture";
import { Sentence } from "../../components/sentence";
import { sentence } from "../../phrase";
import type { Tab } from "../props";

interface ChangesProps {
  changes: readonly Change[];
  tab: Tab;
}

/** More are in the table behind the menu. */
const MOST = 6;

export function Changes({ changes, tab }: ChangesProps) {
  if (changes.length === 0) return null;
  const more = changes.length - MOST;
  return (
    <Picture
      title="What changed from one span to the next?"
      sub="the median step before and after; largest change first"
      name="changes"
      table={() => tableOf(changes)}
      link={() => tab.address()}
      drawn={false}
    >
      <ul class="changes">
        {changes.slice(0, MOST).map((change) => (
          <li key={`${change.run} ${change.metric} ${change.span}`}>
            <Sentence phrase={change.text} />{" "}
            <button type="button" class="link" onClick={() => tab.update({ metric: change.metric, run: change.run })}>
              Show
            </button>
          </li>
        ))}
        {more > 0 && <li class="quiet">{more} more in the table</li>}
      </ul>
    </Picture>
  );
}

function tableOf(changes: readonly Change[]): TableData {
  return {
    columns: [{ label: "Run" }, { label: "Worker" }, { label: "From span", unit: "count" }, { label: "Change" }],
    rows: changes.map((change) => [change.run, change.worker, change.span, sentence(change.text, "table")]),
  };
}
