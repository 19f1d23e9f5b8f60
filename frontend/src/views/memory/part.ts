/** What the parts of the Memory view are given. */

import type { DeviceMemory, MemoryResult } from "../../api.gen";
import type { TimeRange } from "../../time_range";
import type { Tab, Titles } from "../props";
import type { MemoryAnswer } from "./data";

export interface MemoryPart {
  result: MemoryResult;
  device: DeviceMemory;
  /** Of the device among those of the result. */
  place: number;
  titles: Titles;
  tab: Tab;
  /** Opens the name of saved files. */
  name: string;
  zoom: TimeRange | null;
  /** That was pressed, ns from the span's origin; null: the peak is shown. */
  instant: number | null;
  answer: MemoryAnswer;
}
