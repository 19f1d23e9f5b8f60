/** The choice between memory snapshots and the recording of the profiler, and the inputs of what shows a snapshot. */

import type { ComponentChildren } from "preact";
import type { Changes } from "../../../address/keys";
import type { DeviceSnapshot, SnapshotEntry, SnapshotPage } from "../../../api.gen";
import { Chips } from "../../../components/chips";
import { bytes } from "../../../format";
import type { Tab } from "../../props";

const RECORDING = "recording";

/** Keys of the address that are meaningful only within what is shown. */
export const ANEW: Changes = { zoom: null, instant: null, frame: null, memory: null, since: null };

export const nameOf = ({ name, rank, step }: SnapshotEntry): string =>
  [step === null ? [] : `step ${step}`, rank === null ? [] : `rank ${rank}`].flat().join(", ") || name;

interface SnapshotChoiceProps {
  /** Null: snapshots of all runs; else of this one, and of folders without a recording. */
  run: string | null;
  /** Null: the recording. */
  chosen: string | null;
  tab: Tab;
  children?: ComponentChildren;
}

/** Renders nothing in a report, or where there are no snapshots. */
export function SnapshotChoice({ run, chosen, tab, children }: SnapshotChoiceProps) {
  const { runs, spans_total, snapshots: all } = tab.index;
  // a folder without a recording is no run that could be chosen: its snapshots stand beside those of each run
  const snapshots = all.filter(
    (each) => run === null || each.run === run || !runs.some(({ name }) => name === each.run),
  );
  if (snapshots.length === 0 || tab.written_ms !== undefined) return null;
  const recording = { id: RECORDING, label: "Recording", meaning: "What the profiler recorded." };
  return (
    <div class="controls">
      <Chips
        label="Recording or memory snapshot"
        name="Snapshot"
        chosen={chosen ?? RECORDING}
        choose={(id) => tab.update({ ...ANEW, snapshot: id === RECORDING ? null : id })}
        options={[
          ...(spans_total > 0 ? [recording] : []),
          ...snapshots.map((each) => ({
            id: each.id,
            label: each.run !== run && each.run !== "." ? `${each.run}: ${nameOf(each)}` : nameOf(each),
            meaning: `${each.file}, ${bytes(each.file_bytes)}`,
          })),
        ]}
      />
      {children}
    </div>
  );
}

export interface SnapshotProps {
  page: SnapshotPage;
  entry: SnapshotEntry;
  tab: Tab;
}

export interface SnapshotPart extends SnapshotProps {
  device: DeviceSnapshot;
  /** The beginning of the names of saved files. */
  name: string;
}
