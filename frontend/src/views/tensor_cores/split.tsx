import type { DeviceSplit, Phrase } from "../../api.gen";
import { SplitBar } from "../../charts/split_bar";
import { Picture } from "../../components/picture";
import { Sentence } from "../../components/sentence";
import { toggled } from "../../components/legend";
import { Swatch } from "../../components/swatch";
import { percent, scaleFor, sentence } from "../../format";
import type { Tab } from "../props";
import { type Bin, BINS } from "./bins";

interface SplitProps {
  device: DeviceSplit;
  title: Phrase;
  off: ReadonlySet<string>;
  choose(off: ReadonlySet<string>): void;
  tab: Tab;
  name: string;
}

/** Kernel time in four, as one bar with its legend, and what the tab next door counts. */
export function SplitPicture({ device, title, off, choose, tab, name }: SplitProps) {
  const { total, steps } = device;
  const perStep = (ns: number) => ns / Math.max(1, steps.length);
  const scale = scaleFor(perStep(total.kernel_ns), "ns");
  const part = (bin: Bin) => (total.kernel_ns ? bin.of(total) / total.kernel_ns : 0);
  const parts = BINS.map((bin) => ({ ...bin, share: part(bin), title: `${bin.label} ${scale.text(perStep(bin.of(total)))} a step, ${percent(part(bin))}` }));
  const spoken = BINS.map((bin) => `${bin.label} ${scale.text(perStep(bin.of(total)))}, ${percent(part(bin))}`).join("; ");
  return (
    <Picture title={title} sub={`${scale.text(perStep(total.kernel_ns))} of kernel time a step`} name={`kernel time split ${name}`} table={() => splitTable(device)} link={() => tab.address()} drawn={false}>
      <SplitBar label={`${sentence(title)}. Kernel time of ${scale.text(perStep(total.kernel_ns))} a step: ${spoken}.`} parts={parts} off={off} />
      <ul class="parts bins" aria-label="Parts of kernel time. A button shows or hides its part.">
        {parts.map((each) => (
          <li key={each.id}>
            <button class={off.has(each.id) ? "off" : ""} aria-pressed={!off.has(each.id)} title={each.meaning} onClick={() => choose(toggled(each.id, off))}>
              <span class="k">{off.has(each.id) || each.share === 0 ? <i class="swatch hollow" /> : <Swatch colour={each.colour} hatched={each.hatched} />}{each.label}</span>
              <span class="v">{scale.text(perStep(each.of(total)))}<span>{percent(each.share)}</span></span>
            </button>
          </li>
        ))}
      </ul>
      <Counts device={device} />
    </Picture>
  );
}

/** Ours with its bounds, and the figure of the PyTorch Profiler tab with the reason why it differs. */
function Counts({ device }: { device: DeviceSplit }) {
  const { share_low: low, share_high: high, profiler_tab_share: theirs, profiler_tab_why: why } = device;
  const bounded = low !== null && high !== null && percent(low) !== percent(high);
  return (
    <dl class="counts">
      <dt>On tensor cores</dt>
      <dd><b>{bounded ? `${percent(low)} to ${percent(high)}` : percent(low)}</b>{bounded && <span class="quiet"> of kernel time; the upper bound counts every unknown kernel</span>}</dd>
      <dt>PyTorch Profiler tab</dt>
      <dd><b>{percent(theirs)}</b> <span class="quiet">{why ? <Sentence phrase={why} /> : theirs === null ? "cannot be told" : "counts the same"}</span></dd>
    </dl>
  );
}

export function splitTable({ total, steps }: DeviceSplit) {
  const row = (name: string, split: typeof total) => [name, split.kernel_ns, ...BINS.map((bin) => bin.of(split))];
  return {
    columns: [{ label: "Step" }, { label: "Kernel time", unit: "ns" as const }, ...BINS.map((bin) => ({ label: bin.label, unit: "ns" as const }))],
    rows: [...steps.map((step) => row(step.name, step.split)), row("all", total)],
  };
}


