import type { OperatorsResult } from "../../api.gen";
import type { Compared, Tab, Titles } from "../props";

export interface OperatorPart {
  result: OperatorsResult;
  /** What is said above each table, and what is missing. */
  titles: Titles;
  tab: Tab;
  /** Opens the name of saved files. */
  name: string;
  /** The same of another span. */
  compared: Compared<"operators"> | null;
}
