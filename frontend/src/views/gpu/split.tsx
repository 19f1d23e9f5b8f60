import type { DeviceGpu, Phrase } from "../../api.gen";
import { SplitBar } from "../../charts/bars/split_bar";
import { Swatch } from "../../colour";
import type { TableData } from "../../components/data_table";
import { Picture } from "../../components/picture";
import { Sentence } from "../../components/sentence";
import { hint } from "../../dom/hint";
import { percent, scaleFor } from "../../format";
import { sentence } from "../../phrase";
import type { Tab } from "../props";
import { type Bin, binsOf } from "../tensor_cores/bins";

interface KernelSplitProps {
  device: DeviceGpu;
  title: Phrase;
  /** The sum over all kernels, in words. */
  kernelTime: Phrase;
  /** Of the span. */
  steps: number;
  tab: Tab;
  name: string;
}

const NONE: ReadonlySet<string> = new Set();

/** Kernel time in four; why is given in its own view. */
export function KernelSplit({ device, title, kernelTime, steps, tab, name }: KernelSplitProps) {
  const { split } = device;
  const a_step = (ns: number) => ns / Math.max(1, steps);
  const scale = scaleFor(a_step(split.kernel_ns), "ns");
  const parts = binsOf(tab.meanings).map((bin) => {
    const share = bin.of(split) / split.kernel_ns;
    return {
      ...bin,
      share,
      time: scale.text(a_step(bin.of(split))),
      title: `${bin.label} ${scale.text(a_step(bin.of(split)))} a step, ${percent(share)}`,
    };
  });
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

function tableOf({ split }: DeviceGpu, bins: readonly Bin[]): TableData {
  return {
    columns: [{ label: "Kernel time" }, { label: "Total", unit: "ns" }, { label: "Share", unit: "fraction" }],
    rows: bins.map((bin) => [bin.label, bin.of(split), bin.of(split) / split.kernel_ns]),
  };
}
