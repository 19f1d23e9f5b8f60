/** The bins of kernel time with their figures; a press hides one, here and in the tables of the view. */

import { Swatch } from "../../colour";
import { toggled } from "../../components/legend";
import { percent } from "../../format";
import type { Tab } from "../props";
import type { Bin } from "./bins";

export type ShownBin = Bin & { share: number; time: string };

const NONE: ReadonlySet<string> = new Set();

export const hiddenBins = ({ state }: Pick<Tab, "state">): ReadonlySet<string> => state.bins ?? NONE;

export function BinKeys({ parts, tab }: { parts: readonly ShownBin[]; tab: Tab }) {
  const off = hiddenBins(tab);
  const press = (id: string) => {
    const next = toggled(id, off);
    tab.update({ bins: next.size > 0 ? next : null });
  };
  return (
    <ul class="parts bins" aria-label="Parts of kernel time. A button shows or hides its part.">
      {parts.map(({ id, label, meaning, colour, hatched, share, time }) => (
        <li key={id}>
          <button
            class={off.has(id) ? "off" : ""}
            aria-pressed={!off.has(id)}
            data-hint={meaning}
            onClick={() => press(id)}
          >
            <span class="k">
              {off.has(id) || share === 0 ? <i class="swatch hollow" /> : <Swatch colour={colour} hatched={hatched} />}
              {label}
            </span>
            <span class="v">
              {time}
              <span>{percent(share)}</span>
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}
