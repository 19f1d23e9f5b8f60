/** Fields for words to search for, and the filter of a table's rows with how many rows are left. */

import type { RefObject } from "preact";
import { lineName } from "../code_line";
import { count } from "../format";
import { Chips, type ChipsProps } from "./chips";

/** A filter that matches this exact text, and not texts that merely contain it. */
export const quoted = (text: string): string => `"${text}"`;

/**
 * The rows of which some text contains what was typed, in any case; what was typed in quotes has to match exactly. A
 * line of code matches as the trace names it, and as it is shown.
 */
export function matchingRows<Row>(
  rows: readonly Row[],
  typed: string,
  texts: (row: Row) => readonly (string | null | undefined)[],
): readonly Row[] {
  const needle = typed.trim().toLowerCase();
  if (needle === "") return rows;
  const whole = /^"(.+)"$/.exec(needle)?.[1];
  const fits = (text: string) => (whole === undefined ? text.includes(needle) : text === whole);
  return rows.filter((row) =>
    texts(row).some((text) => text && [text, lineName(text)].some((name) => fits(name.toLowerCase()))),
  );
}

interface SearchFieldProps {
  /** What is searched, for who does not see the placeholder. */
  label: string;
  placeholder: string;
  typed: string;
  change(typed: string): void;
  class?: string;
  field?: RefObject<HTMLInputElement | null>;
  hint?: string | undefined;
  onKeyDown?(event: KeyboardEvent): void;
}

/** A field for words to search for, which are no sentences. */
export function SearchField(props: SearchFieldProps) {
  const { label, placeholder, typed, change, class: className = "field filter", field, hint, onKeyDown } = props;
  return (
    <input
      ref={field ?? null}
      class={className}
      type="search"
      aria-label={label}
      placeholder={placeholder}
      data-hint={hint}
      value={typed}
      spellcheck={false}
      autocomplete="off"
      onKeyDown={onKeyDown}
      onInput={(event) => change(event.currentTarget.value)}
    />
  );
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
      <SearchField {...{ label, placeholder, typed }} change={(next) => change(next || null)} />
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
