/** One kernel: how long its launches are, when they run, and how one of them fills the GPU. */

import type { DeviceGpu, GpuResult, KernelDetail, LaunchSite, Phrase } from "../../api.gen";
import { Sentence } from "../../components/sentence";
import { hint } from "../../dom/hint";
import { Sized } from "../../dom/size";
import { count, counted, DASH, ns, percent } from "../../format";
import { busyShare, CallsPicture, DetailPanel, LengthsPicture } from "../detail";
import type { Tab } from "../props";
import { fitted, shortOf } from "../tensor_cores/kernel_name";
import { type Grouping, quoted } from "./groups";
import { LaunchPicture } from "./launch_picture";

interface KernelDetailsProps {
  kernel: string;
  device: DeviceGpu;
  result: GpuResult;
  /** How to record lines, where none are recorded. */
  noLines: Phrase | undefined;
  tab: Tab;
  name: string;
  close(): void;
}

/** Width for the buttons next to the name, px. */
const BESIDE = 270;

const HEIGHT = 172;

export function KernelDetails({ kernel, device, result, noLines, tab, name, close }: KernelDetailsProps) {
  const detail = device.details.find((each) => each.name === kernel);
  const op = opOf(device, kernel);
  return (
    <DetailPanel
      label="The chosen kernel"
      name={kernel}
      class="kernel-detail"
      title={
        <Sized height={20}>
          {(width) => <h2 {...hint(kernel)}>{fitted(detail ? shortOf(detail) : kernel, width - BESIDE)}</h2>}
        </Sized>
      }
      leads={
        op && (
          <button class="button low" onClick={() => tab.update({ view: "operators", op, by: null, opened: null })}>
            Its op in Operators
          </button>
        )
      }
      close={close}
    >
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
    </DetailPanel>
  );
}

/** The op that launches most of the kernel's time. */
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
      <LengthsPicture of={LAUNCHES} lengths={detail.lengths} name={name} height={HEIGHT} />
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

const LAUNCHES = { one: "launch", many: "launches", colour: "kernel" } as const;

function CallsOverTime({ detail: { calls }, result, name }: { detail: KernelDetail; result: GpuResult; name: string }) {
  const title = `It runs for ${percent(busyShare(calls, result))} of the span`;
  const all = calls.count.reduce((sum, each) => sum + each, 0);
  const [first, last] = [calls.count.findIndex((each) => each > 0), calls.count.findLastIndex((each) => each > 0)];
  const within = `${ns(first * calls.bin_ns)} and ${ns((last + 1) * calls.bin_ns)}`;
  return (
    <CallsPicture
      of={LAUNCHES}
      calls={calls}
      span={result}
      title={title}
      label={`${title}: ${count(all)} launches between ${within}.`}
      timeLabel="Time in kernels"
      name={name}
      height={HEIGHT}
    />
  );
}

/** Where a kernel is launched from: op, module and line link to the table of kernels grouped by each. */
interface LaunchSitesProps {
  sites: KernelDetail["sites"];
  /** How to record lines, where none are recorded. */
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
