import type { DeviceSnapshot, SnapshotEntry, SnapshotPage } from "../../../api.gen";
import type { Tab } from "../../props";

export interface SnapshotProps {
  page: SnapshotPage;
  entry: SnapshotEntry;
  tab: Tab;
}

/** The inputs of the parts of the view. */
export interface SnapshotPart extends SnapshotProps {
  device: DeviceSnapshot;
  /** The beginning of the names of saved files. */
  name: string;
}
