/** The bins of kernel time with their figures; a click hides one, here and in the tables of the view. */

import type { ComponentChildren } from "preact";
import type { BinMeaning, Phrase, Split } from "../../api.gen";
import { SplitBar } from "../../charts/bars/split_bar";
import type { TableData } from "../../components/data_table";
import { factorOf, type Reading, totalsText } from "../../components/figures";
import { Legend } from "../../components/legend";
import { Picture } from "../../components/picture";
import { Sentence } from "../../components/sentence";
import { percent } from "../../format";
import type { Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import { scaleOf } from "../../scale";
import type { Tab, ViewPart } from "../props";

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

const NONE: ReadonlySet<string> = new Set();

export const hiddenBins = ({ state }: Pick<Tab, "state">): ReadonlySet<string> => state.bins ?? NONE;

/** A split, and how its times are given. */
interface Given {
  split: Split;
  reading: Reading;
}

interface KernelTimeProps extends ViewPart, Given {
  title: Phrase;
  /** The sum over all kernels, as text. */
  kernelTime: Phrase;
  /** What the hint says after what kernel time is. */
  details?: string;
  /** Follows the sum. */
  after?: ComponentChildren;
  table(): TableData;
  /** The same of the span that is compared with. */
  other: (Given & { name: string }) | null;
  children?: ComponentChildren;
}

/** Why kernel time may exceed the step. */
const KERNEL_TIME =
  "Kernel time is the sum over all kernels. Where some run at the same time, it is longer than the time in which any " +
  "runs.";

/** Kernel time in four bins, as one bar with its legend; below it the same of the span that is compared with. */
export function KernelTime(props: KernelTimeProps) {
  const { title, kernelTime, details = "", after, table, other, tab, name, children } = props;
  const { whole, parts, scale } = binsIn(props, tab.meanings);
  const off = hiddenBins(tab);
  const bar = (of: string, shown: readonly ShownBin[]) => (
    <SplitBar label={`${of}: ${shown.map((part) => part.title).join("; ")}.`} parts={shown} off={off} />
  );
  const theirs = other && binsIn(other, tab.meanings);
  return (
    <Picture
      title={title}
      details={`${KERNEL_TIME}${details}`}
      below
      sub={
        <>
          {props.reading.totals === "step" ? <Sentence phrase={kernelTime} style="table" /> : whole}
          {after}
        </>
      }
      name={`kernel time split ${name}`}
      table={table}
    >
      {bar(`${sentence(title)}. ${whole}`, parts)}
      {other && theirs && (
        <>
          <p class="quiet small aside">
            {other.name}, {theirs.whole}
          </p>
          {bar(other.name, theirs.parts)}
        </>
      )}
      <Legend
        label="Parts of kernel time. A button shows or hides its part."
        parts={parts.filter(({ id, share }) => share > 0 || off.has(id)).map((bin) => ({ ...bin, meaning: bin }))}
        scale={scale}
        off={off}
        choose={(next) => tab.update({ bins: next.size > 0 ? next : null })}
      />
      {children}
    </Picture>
  );
}

/** ns: its time of the reading; title: its time and share as text. */
type ShownBin = Bin & { share: number; ns: number; title: string };

/** Kernel time as text, the bins with their shares, and the scale of their times. */
function binsIn({ split, reading }: Given, meanings: Meanings) {
  const [factor, of] = [factorOf("recording", reading), totalsText(reading)];
  const scale = scaleOf([factor * split.kernel_ns], "ns", reading.unit);
  const parts = binsOf(meanings).map((bin): ShownBin => {
    const share = split.kernel_ns ? bin.of(split) / split.kernel_ns : 0;
    const ns = factor * bin.of(split);
    return { ...bin, share, ns, title: `${bin.label} ${scale.text(ns)} ${of}, ${percent(share)}` };
  });
  return { whole: `${scale.text(factor * split.kernel_ns)} of kernel time ${of}`, parts, scale };
}
