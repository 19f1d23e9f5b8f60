/** The four bins of kernel time, with what each takes of a split. */

import type { BinMeaning, Split } from "../../api.gen";
import type { Meanings } from "../../meanings";

export interface Bin extends BinMeaning {
  of(split: Split): number;
}

/** In the order of the bar. */
export const binsOf = ({ kernel_bins: bins }: Meanings): readonly Bin[] =>
  bins.map((bin) => ({ ...bin, of: (split) => split[`${bin.id}_ns`] }));

export const shownBins = (meanings: Meanings, off: ReadonlySet<string>): readonly Bin[] =>
  binsOf(meanings).filter((bin) => !off.has(bin.id));

/** What multiplies matrices, as the maker of the GPU calls it: "tensor cores", "matrix cores". */
export const matrixUnits = (meanings: Meanings): string => binOf(meanings, "tensor_core").label.toLowerCase();

/** Throws where the catalogue does not hold it: the server and this bundle are of different versions. */
export function binOf({ kernel_bins: bins }: Meanings, id: BinMeaning["id"]): BinMeaning {
  const found = bins.find((bin) => bin.id === id);
  if (!found) throw new Error(`The catalogue holds no bin ${id}. Reload the page.`);
  return found;
}
