/** A memory snapshot: what is in use over time, which code allocated it, what keeps free memory, and what has grown. */

import type { SnapshotPage } from "../../../api.gen";
import { Chips } from "../../../components/chips";
import { Code } from "../../../components/copy";
import { Note } from "../../../components/note";
import { Sentence } from "../../../components/sentence";
import { zoomWithin } from "../../choices";
import { SnapshotChoice } from "./choice";
import { SnapshotCurve } from "./curve";
import { Growth } from "./growth";
import { Lines } from "./lines";
import type { SnapshotPart, SnapshotProps } from "./part";
import { Parts, Segments } from "./segments";
import { Stacks } from "./stacks";

export function Snapshot(props: SnapshotProps) {
  const { page, entry, tab } = props;
  const device = page.summary.devices[page.device];
  const ofRun = tab.index.runs.some(({ name }) => name === entry.run) ? entry.run : null;
  return (
    <div class="view" data-view="memory">
      <SnapshotChoice run={ofRun} chosen={entry.id} tab={tab}>
        {page.summary.devices.length > 1 && (
          <Chips
            label="Device"
            name="Device"
            chosen={String(page.device)}
            choose={(id) => tab.update({ memory: id === "0" ? null : Number(id), zoom: null, instant: null })}
            options={page.summary.devices.map((each, at) => ({ id: String(at), label: `GPU ${each.device}` }))}
          />
        )}
      </SnapshotChoice>
      {page.out_of_memory.slice(0, -1).map((each, at) => (
        <Note key={at} cause="Before that.">
          <Sentence phrase={each} />
        </Note>
      ))}
      <Lost page={page} />
      {device && <OfDevice {...props} device={device} name={`${entry.run} ${entry.name} GPU ${device.device}`} />}
    </div>
  );
}

function OfDevice(part: SnapshotPart) {
  const { page, tab } = part;
  const zoom = zoomWithin(tab.state, { from: 0, to: page.end_ns });
  return (
    <>
      {page.curve ? <SnapshotCurve {...part} curve={page.curve} zoom={zoom} /> : <NoHistory />}
      {page.stacks && <Stacks {...part} stacks={page.stacks} />}
      <Parts {...part} />
      {page.strips.length > 0 && <Segments {...part} />}
      <div class="split memory-split">
        <Lines {...part} />
        <Growth {...part} />
      </div>
    </>
  );
}

const RECORD = "torch.cuda.memory._record_memory_history()";

function NoHistory() {
  return (
    <section class="unknown">
      <h2>How did it come to that?</h2>
      <p class="quiet">No history was recorded. This call, before the training, records it.</p>
      <Code text={RECORD} />
    </section>
  );
}

function Lost({ page: { summary, timed, curve } }: { page: SnapshotPage }) {
  const lost = Object.entries(summary.lost).map(([kind, number]) => `${number} ${kind}`);
  return (
    <>
      {lost.length > 0 && (
        <Note cause="Not all of it was read.">They are not as PyTorch writes them: {lost.join(", ")}.</Note>
      )}
      {!timed && curve && (
        <Note cause="No times were recorded.">Entries are shown in their order, a microsecond each.</Note>
      )}
    </>
  );
}
