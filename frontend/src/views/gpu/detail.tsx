/** One kernel: how long its launches are, when they run, and how one of them fills the GPU. */

import { useEffect, useRef } from "preact/hooks";
import type { DeviceGpu, GpuResult, KernelDetail, LaunchSite, Phrase } from "../../api.gen";
import { Calls } from "../../charts/bars/calls";
import { Histogram } from "../../charts/bars/histogram";
import { CopyButton } from "../../components/copy";
import { Picture } from "../../components/picture";
import { Sentence } from "../../components/sentence";
import { hint } from "../../dom/hint";
import { useFocusBack } from "../../dom/hooks";
import { Sized } from "../../dom/size";
import { count, counted, DASH, ns, percent, scaleFor } from "../../format";
import type { Tab } from "../props";
import { fitted, shortOf } from "../tensor_cores/kernel_name";
import { type Grouping, quoted } from "./groups";
import { LaunchPicture } from "./launch_picture";

interface KernelDetailsProps {
  kernel: string;
  device: DeviceGpu;
  result: GpuResult;
  /** What adds lines, where none are recorded. */
  noLines: Phrase | undefined;
  tab: Tab;
  name: string;
  close(): void;
}

/** Room for the buttons next to the name, px. */
const BESIDE = 270;

const HEIGHT = 172;

export function KernelDetails({ kernel, device, result, noLines, tab, name, close }: KernelDetailsProps) {
  const root = useRef<HTMLElement>(null);
  useFocusBack(root);
  const detail = device.details.find((each) => each.name === kernel);
  const op = opOf(device, kernel);
  useEffect(() => root.current?.scrollIntoView({ block: "nearest" }), []);
  return (
    <section
      class="kernel-detail"
      ref={root}
      aria-label="The chosen kernel"
      data-kernel={kernel}
      onKeyDown={(event) => event.key === "Escape" && close()}
    >
      <div class="head">
        <Sized height={20}>
          {(width) => <h2 {...hint(kernel)}>{fitted(detail ? shortOf(detail) : kernel, width - BESIDE)}</h2>}
        </Sized>
        <CopyButton text={() => kernel} class="button low">
          Copy name
        </CopyButton>
        {op && (
          <button class="button low" onClick={() => tab.update({ view: "operators", op, by: null, opened: null })}>
            Its op in Operators
          </button>
        )}
        <button class="button low" onClick={close}>
          Close
        </button>
      </div>
      {detail ? (
        <>
          <Pictures detail={detail} device={device} result={result} tab={tab} name={name} />
          <LaunchSites sites={detail.sites} noLines={noLines} tab={tab} />
        </>
      ) : (
        <p class="quiet">
          Single launches are kept for the {counted(device.details.length, "kernel")} with most time. This kernel is not
          one of them.
        </p>
      )}
    </section>
  );
}

/** The op that launches most of it. */
const opOf = ({ tables }: DeviceGpu, kernel: string): string | null =>
  tables.find(({ by }) => by === "name")?.rows.find(({ name }) => name === kernel)?.op ?? null;

interface PicturesProps {
  detail: KernelDetail;
  device: DeviceGpu;
  result: GpuResult;
  tab: Tab;
  name: string;
}

function Pictures({ detail, device, result, tab, name }: PicturesProps) {
  return (
    <div class="kernel-pictures">
      <Lengths detail={detail} name={name} />
      <CallsOverTime detail={detail} result={result} name={name} />
      <LaunchPicture
        shape={detail.shape}
        launches={detail.lengths.count.reduce((sum, each) => sum + each, 0)}
        device={device}
        tab={tab}
        name={name}
        height={HEIGHT}
      />
    </div>
  );
}

const colour = "kernel";

function Lengths({ detail: { lengths }, name }: { detail: KernelDetail; name: string }) {
  const { edges_ns: edges, count: counts } = lengths;
  const [low, high] = [edges[0]!, edges[edges.length - 1]!];
  const launches = counts.reduce((sum, each) => sum + each, 0);
  const title = ns(low) === ns(high) ? `A launch takes ${ns(low)}` : `A launch takes ${ns(low)} to ${ns(high)}`;
  return (
    <Picture
      title={title}
      sub={counted(launches, "launch", "launches")}
      name={`lengths ${name}`}
      table={() => lengthsTable(edges, counts)}
    >
      <Histogram
        label={`${title}: ${counted(launches, "launch", "launches")} by length.`}
        edges={edges}
        counts={counts}
        axis="launches"
        colour={colour}
        scale={scaleFor(high, "ns")}
        height={HEIGHT}
      />
    </Picture>
  );
}

const lengthsTable = (edges: readonly number[], counts: readonly number[]) => ({
  columns: [
    { label: "From", unit: "ns" as const },
    { label: "To", unit: "ns" as const },
    { label: "Launches", unit: "count" as const },
  ],
  rows: counts.map((each, bin) => [edges[bin]!, edges[bin + 1]!, each]),
});

function CallsOverTime({ detail: { calls }, result, name }: { detail: KernelDetail; result: GpuResult; name: string }) {
  const whole = result.end_ns - result.start_ns;
  const steps = result.steps.map((step) => ({
    key: step.name,
    from: step.start_ns - result.start_ns,
    to: step.end_ns - result.start_ns,
  }));
  const busy = calls.busy_ns.reduce((sum, each) => sum + each, 0) / whole;
  const all = calls.count.reduce((sum, each) => sum + each, 0);
  const [first, last] = [calls.count.findIndex((each) => each > 0), calls.count.findLastIndex((each) => each > 0)];
  const label =
    `It runs for ${percent(busy)} of the span: ${count(all)} launches between ` +
    `${ns(first * calls.bin_ns)} and ${ns((last + 1) * calls.bin_ns)}.`;
  return (
    <Picture
      title={`It runs for ${percent(busy)} of the span`}
      sub="launches by start"
      name={`calls ${name}`}
      table={() => callsTable(calls)}
    >
      <Calls
        label={label}
        bin={calls.bin_ns}
        counts={calls.count}
        busy={calls.busy_ns}
        steps={steps}
        whole={whole}
        axis="launches"
        colour={colour}
        scale={scaleFor(whole, "ns")}
        height={HEIGHT}
      />
    </Picture>
  );
}

const callsTable = (calls: KernelDetail["calls"]) => ({
  columns: [
    { label: "From", unit: "ns" as const },
    { label: "Launches", unit: "count" as const },
    { label: "Time in kernels", unit: "ns" as const },
  ],
  rows: calls.count.map((each, bin) => [bin * calls.bin_ns, each, calls.busy_ns[bin]!]),
});

/** Where a kernel is launched from: op, module and line lead to the table of kernels by each. */
interface LaunchSitesProps {
  sites: KernelDetail["sites"];
  /** What adds lines, where none are recorded. */
  noLines: Phrase | undefined;
  tab: Tab;
}

export function LaunchSites({ sites, noLines, tab }: LaunchSitesProps) {
  if (!sites || sites.length === 0) return null;
  const lead = (by: Grouping["id"], name: string) => tab.update({ by, kernel: quoted(name), opened: null });
  return (
    <section class="picture">
      <div class="head">
        <h2>Where it is launched</h2>
      </div>
      <table class="data launch-sites">
        <thead>
          <tr>
            <th>Op</th>
            <th>Module</th>
            <th>Line</th>
            <th class="num">Launches</th>
            <th class="num">Total</th>
          </tr>
        </thead>
        <tbody>
          {sites.map((site) => (
            <tr key={keyOf(site)}>
              <td>{site.op === null ? DASH : <Lead name={site.op} act={() => lead("name,op", site.op!)} />}</td>
              <td>
                {site.module === null ? DASH : <Lead name={site.module} act={() => lead("module", site.module!)} />}
              </td>
              <td>
                {site.source === null ? DASH : <Lead name={site.source} act={() => lead("line", site.source!)} />}
              </td>
              <td class="num">{count(site.count)}</td>
              <td class="num">{ns(site.total_ns)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {noLines && (
        <p class="quiet small aside">
          <Sentence phrase={noLines} />
        </p>
      )}
    </section>
  );
}

const keyOf = ({ op, module, source }: LaunchSite): string => `${op}\n${module}\n${source}`;

function Lead({ name, act }: { name: string; act(): void }) {
  return (
    <button class="link" onClick={act}>
      {name}
    </button>
  );
}
