/** The bins of kernel time with their figures; a click hides one, here and in the tables of the view. */

import type { BinMeaning, Split } from "../../api.gen";
import { SplitBar } from "../../charts/bars/split_bar";
import { factorOf, type Reading, totalsText } from "../../components/figures";
import { Legend } from "../../components/legend";
import { percent, type Scale } from "../../format";
import type { Meanings } from "../../meanings";
import { scaleOf } from "../../scale";
import type { Tab } from "../props";

/** The four bins of kernel time, with the time of each in a split. */
export interface Bin extends BinMeaning {
  of(split: Split): number;
}

/** In the order of the bar. */
export const binsOf = ({ kernel_bins: bins }: Meanings): readonly Bin[] =>
  bins.map((bin) => ({ ...bin, of: (split) => split[`${bin.id}_ns`] }));

export const shownBins = (meanings: Meanings, off: ReadonlySet<string>): readonly Bin[] =>
  binsOf(meanings).filter((bin) => !off.has(bin.id));

/** The units that multiply matrices, as the vendor of the GPU calls them: "tensor cores", "matrix cores". */
export const matrixUnits = (meanings: Meanings): string => binOf(meanings, "tensor_core").label.toLowerCase();

/** Throws where the catalogue lacks the bin: then the server and this bundle are of different versions. */
export function binOf({ kernel_bins: bins }: Meanings, id: BinMeaning["id"]): BinMeaning {
  const found = bins.find((bin) => bin.id === id);
  if (!found) throw new Error(`The catalogue holds no bin ${id}. Reload the page.`);
  return found;
}

/** ns: its time of the reading; title: its time and share as text. */
type ShownBin = Bin & { share: number; ns: number; title: string };

/** Kernel time as text, the bins with their shares, and the scale of their times. */
export function binsIn(split: Split, reading: Reading, meanings: Meanings) {
  const [factor, of] = [factorOf("recording", reading), totalsText(reading)];
  const scale = scaleOf([factor * split.kernel_ns], "ns", reading.unit);
  const parts = binsOf(meanings).map((bin): ShownBin => {
    const share = split.kernel_ns ? bin.of(split) / split.kernel_ns : 0;
    const ns = factor * bin.of(split);
    return { ...bin, share, ns, title: `${bin.label} ${scale.text(ns)} ${of}, ${percent(share)}` };
  });
  return { whole: `${scale.text(factor * split.kernel_ns)} of kernel time ${of}`, parts, scale };
}

/** The bins as one bar. of: what is split, for a screen reader. */
export const BinBar = ({ of, parts, tab }: { of: string; parts: readonly ShownBin[]; tab: Tab }) => (
  <SplitBar label={`${of}: ${parts.map(({ title }) => title).join("; ")}.`} parts={parts} off={hiddenBins(tab)} />
);

const NONE: ReadonlySet<string> = new Set();

export const hiddenBins = ({ state }: Pick<Tab, "state">): ReadonlySet<string> => state.bins ?? NONE;

interface BinKeysProps {
  parts: readonly ShownBin[];
  scale: Scale;
  tab: Tab;
}

/** Of bins with time in a split, and of those that are hidden. */
export function BinKeys({ parts, scale, tab }: BinKeysProps) {
  const off = hiddenBins(tab);
  return (
    <Legend
      label="Parts of kernel time. A button shows or hides its part."
      parts={parts.filter(({ id, share }) => share > 0 || off.has(id)).map((bin) => ({ ...bin, meaning: bin }))}
      scale={scale}
      off={off}
      choose={(next) => tab.update({ bins: next.size > 0 ? next : null })}
    />
  );
}
