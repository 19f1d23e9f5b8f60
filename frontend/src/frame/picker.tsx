/**
 * One part of the bar's path. Where there is a choice among a few or thousands, it opens a searchable list, which draws
 * only what is visible.
 */

import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { Chevron, usePopup } from "../components/popup";
import { hint } from "../dom/hint";
import { scrollToRow, useRowWindow } from "../dom/rows";
import { count, shortened } from "../format";
import { holds, wordsOf } from "../words";

export interface PickerEntry {
  id: string;
  label: string;
  /** The full name, where the label is a part of it: shown on hover, and covered by the search. */
  full?: string;
  /** Entries of one group are listed together under its name. */
  group?: string;
  /** Shown at the right end: the mean step, or the size of what is not yet read. */
  aside: string;
  /** Not read yet. */
  faint?: boolean;
  /** Another rank or span of a listed run: only a search finds it. */
  folded?: boolean;
}

interface PickerProps {
  label: string;
  /** The name of the entries in the plural: "runs". */
  many: string;
  entries: readonly PickerEntry[];
  chosen: string | null;
  /** The text of the closed control, in place of the entry's label. */
  value?: string;
  /** Follows the value, less important. */
  rest?: string;
  /** The label as it is visible in the bar. Without it, the place in the path says what the value is. */
  shownLabel?: string;
  /** The visible text while nothing is chosen, with which label and value begin. */
  closed?: string | undefined;
  /** Stands at the end of the bar, apart from the path. */
  apart?: boolean;
  choose(id: string): void;
}

/** The most characters of a long name in the closed control, and in the list. */
const VALUE_LENGTH = 26;
const LABEL_LENGTH = 72;

const ROW_PX = 24;
const ROWS_SHOWN = 12;

export function Picker(props: PickerProps) {
  const { label, entries, chosen, value, rest = "", shownLabel, closed, apart = false, choose } = props;
  const { open, root, toggle, closeBack } = usePopup();
  const entry = entries.find((each) => each.id === chosen);
  const shown = value ?? entry?.label ?? "none";
  const whole = `${value ?? entry?.full ?? shown}${rest}`;
  const text =
    closed === undefined ? (
      <>
        <span class={shownLabel ? "k shown" : "k"}>{shownLabel ?? label}</span>
        <span class="clip">
          {shortened(shown, VALUE_LENGTH)}
          {rest && <span class="rest">{rest}</span>}
        </span>
      </>
    ) : (
      <span class="clip rest">
        {closed}
        <span class="visually-hidden">{`${label} ${shown}`.slice(closed.length)}</span>
      </span>
    );
  if (entries.length < 2)
    return (
      <div class="picker sole">
        <span class="pick only" {...hint(whole)}>
          {text}
        </span>
      </div>
    );
  const pick = (id: string) => {
    closeBack();
    choose(id);
  };
  return (
    <div class={`picker${apart ? " apart" : rest ? " long" : closed ? " firm" : ""}`} ref={root}>
      <button class="pick" aria-haspopup="listbox" aria-expanded={open} data-hint={whole} onClick={toggle}>
        {text}
        <Chevron to="down" />
      </button>
      {open && <PickerList {...props} choose={pick} />}
    </div>
  );
}

function PickerList({ label, many, entries, chosen, choose }: PickerProps) {
  const [search, setSearch] = useState("");
  const found = useMemo(
    () => matching(entries, search).filter(({ folded, id }) => !folded || search.trim() !== "" || id === chosen),
    [entries, search, chosen],
  );
  const lines = useMemo(() => linesOf(found), [found]);
  const [at, setAt] = useState(() =>
    Math.max(
      0,
      found.findIndex((entry) => entry.id === chosen),
    ),
  );
  const line = lines.findIndex((each) => each.at === at);
  const field = useRef<HTMLInputElement>(null);
  const box = useRef<HTMLUListElement>(null);
  const id = useId();
  const view = useRowWindow(box, lines.length, ROW_PX);
  useEffect(() => field.current?.focus(), []);
  useEffect(() => scrollToRow(box.current, line, ROW_PX), [line]);
  const typed = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step !== undefined) setAt(Math.min(found.length - 1, Math.max(0, at + step)));
    else if (event.key === "Enter" && found[at]) choose(found[at].id);
    else return;
    event.preventDefault();
  };
  return (
    <div class="pop list" onKeyDown={typed}>
      <input
        ref={field}
        class="field"
        value={search}
        aria-label={`Search ${many}`}
        placeholder={`Search ${many}`}
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={view.first <= line && line < view.end ? `${id}-${at}` : undefined}
        onInput={(event) => {
          setSearch(event.currentTarget.value);
          setAt(0);
        }}
      />
      <ul role="listbox" id={id} aria-label={label} ref={box} style={{ maxHeight: `${ROWS_SHOWN * ROW_PX}px` }}>
        <li role="presentation" style={{ height: `${view.above_px}px` }} />
        {lines.slice(view.first, view.end).map((each) =>
          each.at === null ? (
            <li key={`group ${each.group}`} role="presentation" class="group">
              {each.group}
            </li>
          ) : (
            <Option
              key={found[each.at]!.id}
              id={`${id}-${each.at}`}
              entry={found[each.at]!}
              place={each.at}
              count={found.length}
              active={each.at === at}
              chosen={found[each.at]!.id === chosen}
              point={setAt}
              choose={choose}
            />
          ),
        )}
        <li role="presentation" style={{ height: `${view.below_px}px` }} />
      </ul>
      <p>
        {found.length === 0 ? (
          <>
            No match.{" "}
            <button class="link" onClick={() => setSearch("")}>
              Clear
            </button>
          </>
        ) : (
          `${count(found.length)} of ${count(entries.length)} ${many}${folds(entries) && !search.trim() ? FOLDED : ""}`
        )}
      </p>
    </div>
  );
}

interface OptionProps {
  id: string;
  entry: PickerEntry;
  /** Index among the entries that match the search. */
  place: number;
  count: number;
  active: boolean;
  chosen: boolean;
  point(place: number): void;
  choose(id: string): void;
}

function Option({ id, entry, place, count: all, active, chosen, point, choose }: OptionProps) {
  return (
    <li
      id={id}
      role="option"
      data-hint={entry.full ?? entry.label}
      class={entry.faint ? "entry faint" : "entry"}
      aria-selected={active}
      aria-setsize={all}
      aria-posinset={place + 1}
      onPointerMove={() => point(place)}
      onClick={() => choose(entry.id)}
    >
      <span class={chosen ? "clip chosen" : "clip"}>{shortened(entry.label, LABEL_LENGTH)}</span>
      <span class="aside">{entry.aside}</span>
    </li>
  );
}

/** A line of the list: an entry by its index, or the name of the group that begins there. */
type Line = { at: number } | { at: null; group: string };

function linesOf(entries: readonly PickerEntry[]): Line[] {
  return entries.flatMap(({ group }, at): Line[] =>
    group !== undefined && group !== entries[at - 1]?.group ? [{ at: null, group }, { at }] : [{ at }],
  );
}

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: ROWS_SHOWN, PageUp: -ROWS_SHOWN };

const folds = (entries: readonly PickerEntry[]): boolean => entries.some(({ folded }) => folded);

const FOLDED = "; a search finds other ranks and spans";

/** Entries that contain every word of the search, in any order and case. */
export function matching(entries: readonly PickerEntry[], search: string): readonly PickerEntry[] {
  const searched = wordsOf(search);
  return searched.length === 0 ? entries : entries.filter((entry) => holds(nameOf(entry), searched));
}

const nameOf = ({ full, label, group = "" }: PickerEntry): string => `${full ?? ""} ${label} ${group}`;
