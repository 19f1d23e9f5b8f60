import type { DeviceGpu } from "../../api.gen";
import type { Names } from "../props";

/** The GPU of the other span that stands next to this one. */
export interface OtherGpu extends Names {
  device: DeviceGpu;
  /** Of its span. */
  steps: number;
}
