import type { OperatorsResult } from "../../api.gen";
import type { Tab, Titles } from "../props";

export interface OperatorPart {
  result: OperatorsResult;
  /** What is said above each table, and what is missing. */
  titles: Titles;
  tab: Tab;
  /** Opens the name of saved files. */
  name: string;
}
