import type { DeviceGpu, Phrase } from "../../api.gen";
import { SplitBar } from "../../charts/bars/split_bar";
import { Swatch } from "../../colour";
import type { TableData } from "../../components/data_table";
import { factorOf, totalsText } from "../../components/figures";
import { Picture } from "../../components/picture";
import { Sentence } from "../../components/sentence";
import { hint } from "../../dom/hint";
import { percent } from "../../format";
import { sentence } from "../../phrase";
import { scaleOf } from "../../scale";
import { readingOf } from "../choices";
import type { Tab } from "../props";
import { type Bin, binsOf } from "../tensor_cores/bins";

interface KernelSplitProps {
  device: DeviceGpu;
  title: Phrase;
  /** The sum over all kernels, in words. */
  kernelTime: Phrase;
  tab: Tab;
  name: string;
}

const NONE: ReadonlySet<string> = new Set();

/** Kernel time in four; why is given in its own view. */
export function KernelSplit({ device, title, kernelTime, tab, name }: KernelSplitProps) {
  const { split } = device;
  const reading = readingOf(tab);
  const [factor, of] = [factorOf("recording", reading), totalsText(reading)];
  const scale = scaleOf([factor * split.kernel_ns], "ns", reading.unit);
  const parts = binsOf(tab.meanings).map((bin) => {
    const share = bin.of(split) / split.kernel_ns;
    return {
      ...bin,
      share,
      time: scale.text(factor * bin.of(split)),
      title: `${bin.label} ${scale.text(factor * bin.of(split))} ${of}, ${percent(share)}`,
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
          {reading.totals === "step" ? (
            <Sentence phrase={kernelTime} style="table" />
          ) : (
            `${scale.text(factor * split.kernel_ns)} of kernel time ${of}`
          )}
          .{" "}
          <button class="link" onClick={() => tab.update({ view: "tensor_cores" })}>
            {tab.meanings.viewTitle("tensor_cores")}
          </button>
        </>
      }
    >
      <SplitBar
        label={
          `${sentence(title)}. Kernel time of ${scale.text(factor * split.kernel_ns)} ${of}: ` +
          `${parts.map((part) => part.title).join("; ")}.`
        }
        parts={parts}
        off={NONE}
      />
      <ul class="parts split-parts" aria-hidden="true">
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
