import type { DeviceGpu, Phrase } from "../../api.gen";
import { SplitBar } from "../../charts/bars/split_bar";
import { Swatch } from "../../colour";
import type { TableData } from "../../components/data_table";
import { Picture } from "../../components/picture";
import { Sentence } from "../../components/sentence";
import { hint } from "../../dom/hint";
import { percent, type Scale, scaleFor } from "../../format";
import { sentence } from "../../phrase";
import type { Tab } from "../props";
import { type Bin, binsOf } from "../tensor_cores/bins";
import type { OtherGpu } from "./other";

interface KernelSplitProps {
  device: DeviceGpu;
  title: Phrase;
  /** The sum over all kernels, in words. */
  kernelTime: Phrase;
  /** Of the span. */
  steps: number;
  tab: Tab;
  name: string;
  other: OtherGpu | null;
}

const NONE: ReadonlySet<string> = new Set();

/** Kernel time in four; why is given in its own view. */
export function KernelSplit({ device, title, kernelTime, steps, tab, name, other }: KernelSplitProps) {
  const { split } = device;
  const a_step = (ns: number) => ns / Math.max(1, steps);
  const scale = scaleFor(a_step(split.kernel_ns), "ns");
  const parts = partsOf(split, steps, scale, binsOf(tab.meanings));
  return (
    <Picture
      title={title}
      name={`kernel time split ${name}`}
      table={() => tableOf(device, binsOf(tab.meanings))}
      link={() => tab.address()}
      drawn={false}
      sub={
        <>
          <Sentence phrase={kernelTime} style="table" />.{" "}
          <button class="link" onClick={() => tab.update({ view: "tensor_cores" })}>
            {tab.meanings.viewTitle("tensor_cores")}
          </button>
        </>
      }
    >
      <SplitBar
        label={
          `${sentence(title)}. Kernel time of ${scale.text(a_step(split.kernel_ns))} a step: ` +
          `${parts.map((part) => part.title).join("; ")}.`
        }
        parts={parts}
        off={NONE}
      />
      {other && other.device.split.kernel_ns > 0 && <OtherSplit other={other} bins={binsOf(tab.meanings)} />}
      <ul class="parts split-parts">
        {parts.map((part) => (
          <li key={part.id} {...hint(part.meaning)}>
            <span class="k">
              {part.share === 0 ? <i class="swatch hollow" /> : <Swatch colour={part.colour} hatched={part.hatched} />}
              {part.label}
            </span>
            <span class="v">
              {part.time}
              <span>{percent(part.share)}</span>
            </span>
          </li>
        ))}
      </ul>
    </Picture>
  );
}

/** The bins with their shares, and each in words. */
function partsOf(split: DeviceGpu["split"], steps: number, scale: Scale, bins: readonly Bin[]) {
  return bins.map((bin) => {
    const share = bin.of(split) / split.kernel_ns;
    const time = scale.text(bin.of(split) / Math.max(1, steps));
    return { ...bin, share, time, title: `${bin.label} ${time} a step, ${percent(share)}` };
  });
}

/** The same of the other span, under it. */
function OtherSplit({ other: { name, device, steps }, bins }: { other: OtherGpu; bins: readonly Bin[] }) {
  const a_step = device.split.kernel_ns / Math.max(1, steps);
  const scale = scaleFor(a_step, "ns");
  const parts = partsOf(device.split, steps, scale, bins);
  return (
    <>
      <p class="quiet small aside">
        {name}, {scale.text(a_step)} a step
      </p>
      <SplitBar label={`${name}: ${parts.map((part) => part.title).join("; ")}.`} parts={parts} off={NONE} />
    </>
  );
}

function tableOf({ split }: DeviceGpu, bins: readonly Bin[]): TableData {
  return {
    columns: [{ label: "Kernel time" }, { label: "Total", unit: "ns" }, { label: "Share", unit: "fraction" }],
    rows: bins.map((bin) => [bin.label, bin.of(split), bin.of(split) / split.kernel_ns]),
  };
}
