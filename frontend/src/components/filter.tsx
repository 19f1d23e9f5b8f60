/** A field that filters the rows of a table, and how many rows are left. */

import { count } from "../format";
import { Chips, type ChipsProps } from "./chips";

/** The rows of which some text contains what was typed, in any case. */
export function matchingRows<Row>(
  rows: readonly Row[],
  typed: string,
  texts: (row: Row) => readonly (string | null | undefined)[],
): readonly Row[] {
  const needle = typed.trim().toLowerCase();
  return needle === "" ? rows : rows.filter((row) => texts(row).some((text) => text?.toLowerCase().includes(needle)));
}

interface FilterProps {
  /** Names what is searched: "Filter by kernel, op, module or line". */
  label: string;
  placeholder: string;
  typed: string;
  change(typed: string | null): void;
  /** The number of rows that match, and of all rows here. */
  shown: number;
  all: number;
  /** The number of rows that the server folds into one: the filter does not search these. */
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
  /** Null: there are too few rows for a filter. */
  filter: FilterProps | null;
}

/** The choice of grouping for a table's rows, and the field that filters them. */
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

/** Shown in place of rows where none contains the typed text. */
export const Unmatched = ({ what = "Nothing here", typed, change }: UnmatchedProps) => (
  <>
    {what} matches <code>{typed}</code>.{" "}
    <button class="link" onClick={() => change(null)}>
      Clear
    </button>
  </>
);
