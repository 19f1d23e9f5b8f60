/** What every part of the Host view is given. */

import type { HostResult } from "../../api.gen";
import type { Tab } from "../props";

export interface HostPart {
  result: HostResult;
  tab: Tab;
  /** Opens the name of saved files. */
  name: string;
  /** Parts that a legend hides, by id. */
  off: ReadonlySet<string>;
}
