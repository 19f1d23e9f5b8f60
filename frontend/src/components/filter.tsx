/** A field that narrows the rows of a table, and how many are left. */

import { count } from "../format";
import { Chips, type ChipsProps } from "./chips";

interface FilterProps {
  /** What is looked through: "Filter by kernel, op, module or line". */
  label: string;
  placeholder: string;
  typed: string;
  change(typed: string | null): void;
  /** Rows that match, of all that are here. */
  shown: number;
  all: number;
  /** Rows that the server folds into one: the filter does not look through these. */
  folded?: number;
}

export function Filter({ label, placeholder, typed, change, shown, all, folded = 0 }: FilterProps) {
  return (
    <>
      <span class="sub filtered" role="status">
        {typed.trim() !== "" && `${count(shown)} of ${folded > 0 ? `the ${count(all)} largest` : count(all)}`}
      </span>
      <input
        class="field filter"
        type="search"
        placeholder={placeholder}
        aria-label={label}
        value={typed}
        onInput={(event) => change(event.currentTarget.value || null)}
      />
    </>
  );
}

interface GroupedFilterProps {
  groups: ChipsProps;
  /** Null: the rows are too few for one. */
  filter: FilterProps | null;
}

/** How the rows of a table are grouped, and the field that narrows them. */
export const GroupedFilter = ({ groups, filter }: GroupedFilterProps) => (
  <>
    <div class="groupings">
      <Chips {...groups} />
    </div>
    {filter && <Filter {...filter} />}
  </>
);

interface UnmatchedProps extends Pick<FilterProps, "typed" | "change"> {
  /** "No call" */
  what?: string;
}

/** In place of rows where none holds what was typed. */
export const Unmatched = ({ what = "Nothing here", typed, change }: UnmatchedProps) => (
  <>
    {what} matches <code>{typed}</code>.{" "}
    <button class="link" onClick={() => change(null)}>
      Clear
    </button>
  </>
);
