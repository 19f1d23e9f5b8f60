/** Chooses which columns a table shows, in which unit its figures are, and whether they are totals or per step. */

import { count } from "../format";
import type { TimeUnit } from "../scale";
import { Chips } from "./chips";
import type { Figures, Reading, Totals } from "./figures";
import { usePopup } from "./popup";

/** The reader's choices for a table. Unit and totals apply to every table. */
export interface TableChoice {
  reading: Reading;
  /** Whether the reader wants a column; undefined where the reader never chose. */
  wants(column: string): boolean | undefined;
  want(column: string, shown: boolean): void;
  choose(reading: Partial<Pick<Reading, "totals" | "unit">>): void;
  /** Restores all columns to their defaults. */
  reset(): void;
}

interface Choosable {
  id: string;
  label: string;
  meaning?: string;
  extra?: boolean;
  figures?: Figures<never>;
}

interface ColumnsMenuProps {
  table: string;
  columns: readonly Choosable[];
  choice: TableChoice;
}

const UNITS: readonly { id: TimeUnit; label: string }[] = [
  { id: "auto", label: "auto" },
  { id: "us", label: "µs" },
  { id: "ms", label: "ms" },
  { id: "s", label: "s" },
];

export function ColumnsMenu(props: ColumnsMenuProps) {
  const { open, root, toggle } = usePopup();
  return (
    <div class="columns-menu" ref={root}>
      <button
        aria-haspopup="dialog"
        aria-expanded={open}
        aria-label={`Columns and units of ${props.table}`}
        onClick={toggle}
      >
        <svg viewBox="0 0 12 10" aria-hidden="true">
          <path d="M0.500 0.500h11v9h-11zM4.500 0.500v9M8.500 0.500v9" />
        </svg>
      </button>
      {open && <Choices {...props} />}
    </div>
  );
}

function Choices({ table, columns, choice }: ColumnsMenuProps) {
  const { reading, wants } = choice;
  const adds = columns.some(({ figures }) => figures?.adds) && reading.steps > 1;
  const timed = columns.some(({ figures }) => figures?.unit === "ns");
  return (
    <div class="pop" role="dialog" aria-label={`Columns and units of ${table}`}>
      <fieldset>
        <legend>Columns</legend>
        {columns.slice(1).map(({ id, label, meaning, extra }) =>
          label === "" ? null : (
            <label key={id} data-hint={meaning}>
              <input
                type="checkbox"
                checked={wants(id) ?? !extra}
                onChange={(event) => choice.want(id, event.currentTarget.checked)}
              />
              {label}
            </label>
          ),
        )}
        <button class="link" onClick={choice.reset}>
          Reset columns
        </button>
      </fieldset>
      {timed && (
        <Chips
          label="Unit of times, in every table"
          name="Times in"
          chosen={reading.unit}
          options={UNITS}
          choose={(unit) => choice.choose({ unit: unit as TimeUnit })}
        />
      )}
      {adds && (
        <Chips
          label="What totals are of, in every table"
          name="Totals of"
          chosen={reading.totals}
          options={totalsChoices(reading.steps)}
          choose={(totals) => choice.choose({ totals: totals as Totals })}
        />
      )}
    </div>
  );
}

const totalsChoices = (steps: number): readonly { id: Totals; label: string }[] => [
  { id: "step", label: "a step" },
  { id: "recording", label: `all ${count(steps)} steps` },
];
