import type { DeviceGpu, Phrase } from "../../api.gen";
import type { TableData } from "../../components/data_table";
import { Picture } from "../../components/picture";
import { Sentence } from "../../components/sentence";
import { sentence } from "../../phrase";
import { readingOf } from "../choices";
import type { Names, Tab, ViewPart } from "../props";
import { type Bin, BinBar, BinKeys, binsIn, binsOf } from "../tensor_cores/bins";

interface KernelSplitProps extends ViewPart {
  device: DeviceGpu;
  title: Phrase;
  /** The sum over all kernels, as text. */
  kernelTime: Phrase;
  other: OtherGpu | null;
}

/** Why kernel time may exceed the step. */
export const KERNEL_TIME =
  "Kernel time is the sum over all kernels. Where some run at the same time, it is longer than the time in which any " +
  "runs.";

/** Kernel time in four parts; the reasons are in the view about tensor cores. */
export function KernelSplit({ device, title, kernelTime, tab, name, other }: KernelSplitProps) {
  const { split } = device;
  const reading = readingOf(tab);
  const { whole, parts, scale } = binsIn(split, reading, tab.meanings);
  return (
    <Picture
      title={title}
      name={`kernel time split ${name}`}
      table={() => tableOf(device, binsOf(tab.meanings))}
      details={KERNEL_TIME}
      below
      sub={
        <>
          {reading.totals === "step" ? <Sentence phrase={kernelTime} style="table" /> : whole}.{" "}
          <button class="link" onClick={() => tab.update({ view: "tensor_cores" })}>
            {tab.meanings.viewTitle("tensor_cores")}
          </button>
        </>
      }
    >
      <BinBar of={`${sentence(title)}. ${whole}`} parts={parts} tab={tab} />
      {other && other.device.split.kernel_ns > 0 && <OtherSplit other={other} tab={tab} />}
      <BinKeys parts={parts} scale={scale} tab={tab} />
    </Picture>
  );
}

/** The same for the other span, below this one. */
function OtherSplit({ other: { name, device, steps }, tab }: { other: OtherGpu; tab: Tab }) {
  const { whole, parts } = binsIn(device.split, readingOf({ ...tab, steps }), tab.meanings);
  return (
    <>
      <p class="quiet small aside">
        {name}, {whole}
      </p>
      <BinBar of={name} parts={parts} tab={tab} />
    </>
  );
}

function tableOf({ split }: DeviceGpu, bins: readonly Bin[]): TableData {
  return {
    columns: [{ label: "Kernel time" }, { label: "Total", unit: "ns" }, { label: "Share", unit: "fraction" }],
    rows: bins.map((bin) => [bin.label, bin.of(split), bin.of(split) / split.kernel_ns]),
  };
}

/** The GPU of the other span that is compared with this one. */
export interface OtherGpu extends Names {
  device: DeviceGpu;
  /** The number of steps of its span. */
  steps: number;
}
