import type { DeviceSnapshot, SnapshotEntry, SnapshotPage } from "../../../api.gen";
import type { Tab } from "../../props";

export interface SnapshotProps {
  page: SnapshotPage;
  entry: SnapshotEntry;
  tab: Tab;
}

/** What the parts of the view are given. */
export interface SnapshotPart extends SnapshotProps {
  device: DeviceSnapshot;
  /** Opens the name of saved files. */
  name: string;
}
