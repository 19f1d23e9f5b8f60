/** One kernel: how long its launches are, when they run, and how one of them fills the GPU. */

import { sum } from "d3-array";
import type { DeviceGpu, GpuResult, KernelDetail, LaunchShape, LaunchSite, Phrase } from "../../api.gen";
import { lineName } from "../../code_line";
import type { TableData } from "../../components/data_table";
import { quoted } from "../../components/filter";
import { Picture, Section } from "../../components/picture";
import { Remark } from "../../components/sentence";
import { hint } from "../../dom/hint";
import { Sized } from "../../dom/size";
import { count, counted, DASH, ns, percent } from "../../format";
import { sentence } from "../../phrase";
import { busyShare, CallsPicture, DetailPanel, HEIGHT, LengthsPicture } from "../detail";
import type { Tab, ViewPart } from "../props";
import { fitted, shortOf } from "../tensor_cores/kernel_name";
import { type Launch, Waves, wavesHeight } from "./charts/waves";
import type { Grouping } from "./groups";

interface KernelDetailsProps extends ViewPart {
  kernel: string;
  device: DeviceGpu;
  result: GpuResult;
  /** How to record lines, where none are recorded. */
  noLines: Phrase | undefined;
  close(): void;
}

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
          {(width) => <h2 {...hint(kernel)}>{fitted(detail ? shortOf(detail) : kernel, width)}</h2>}
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

interface PicturesProps extends ViewPart {
  detail: KernelDetail;
  device: DeviceGpu;
  result: GpuResult;
}

function Pictures({ detail, device, result, tab, name }: PicturesProps) {
  return (
    <div class="kernel-pictures">
      <LengthsPicture of={LAUNCHES} lengths={detail.lengths} name={name} />
      <CallsOverTime detail={detail} result={result} name={name} />
      <LaunchPicture shape={detail.shape} launches={sum(detail.lengths.count)} device={device} tab={tab} name={name} />
    </div>
  );
}

const LAUNCHES = { one: "launch", many: "launches", colour: "kernel" } as const;

function CallsOverTime({ detail: { calls }, result, name }: { detail: KernelDetail; result: GpuResult; name: string }) {
  const title = `It runs for ${percent(busyShare(calls, result))} of the span`;
  const all = sum(calls.count);
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
    <Section class="picture" title="Where it is launched">
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
                {site.source === null ? (
                  DASH
                ) : (
                  <Lead name={lineName(site.source)} act={() => lead("line", site.source!)} />
                )}
              </td>
              <td class="num">{count(site.count)}</td>
              <td class="num">{ns(site.total_ns)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Remark phrase={noLines} />
    </Section>
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

interface LaunchPictureProps extends ViewPart {
  shape: LaunchShape | null;
  /** The launches of the kernel, in all its shapes. */
  launches: number;
  device: DeviceGpu;
}

/** The most frequent launch of a kernel as waves of blocks, with its figures. */
export function LaunchPicture({ shape, launches, device, tab, name }: LaunchPictureProps) {
  const title = titleOf(shape);
  const facts = shape ? factsOf(shape, launches, tab) : [];
  const launch = shape && launchOf(shape);
  return (
    <Picture title={title} name={`waves ${name}`} table={() => tableOf(facts)}>
      {launch ? (
        <Waves
          label={`${title}, in the most frequent launch shape.`}
          launch={launch}
          height={Math.min(HEIGHT, wavesHeight(launch.waves))}
        />
      ) : (
        <p class="unmeasured">{whyNot(shape, device, tab)}</p>
      )}
      <dl class="facts">
        {facts.map(([label, value, why]) => (
          <div key={label} {...hint(why)}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Picture>
  );
}

function titleOf(shape: LaunchShape | null): string {
  if (shape?.waves == null || shape.tail === null || !shape.slots) return "How does a launch fill the GPU?";
  const last = percent(shape.tail / shape.slots);
  if (shape.persistent && shape.waves > 1) return "Its blocks stay until all is done";
  return shape.waves === 1 ? `One wave, ${last} full` : `${counted(shape.waves, "wave")}, the last ${last} full`;
}

function launchOf({ sm_count: sms, resident, waves, tail, persistent }: LaunchShape): Launch | null {
  return sms === null || resident === null || waves === null || tail === null || resident === 0
    ? null
    : { sms, resident, waves, tail, whole: persistent };
}

/** The server's reason for the device's own figure, which lacks the same data. */
function whyNot(shape: LaunchShape | null, device: DeviceGpu, tab: Tab): string {
  const reason = device.tiles.find((tile) => tile.metric === "slot_efficiency")?.reason;
  if (reason) return sentence(tab.meanings.explain(reason));
  return shape === null
    ? "This trace does not say the grid of this kernel."
    : "This trace does not say how many blocks an SM holds of this kernel.";
}

type Fact = readonly [label: string, value: string, why: string | undefined];

function factsOf(shape: LaunchShape, launches: number, tab: Tab): Fact[] {
  const metric = (id: string, value: number | null): Fact => {
    const { label, meaning } = tab.meanings.metric(id);
    return [label, percent(value), meaning];
  };
  const threads = shape.block.reduce((product, each) => product * each, 1);
  return [
    [
      "Grid",
      `${shape.grid.join(" × ")}${shape.blocks === null ? "" : `, ${counted(shape.blocks, "block")}`}`,
      undefined,
    ],
    ["Block", shape.block.length ? `${shape.block.join(" × ")}, ${counted(threads, "thread")}` : DASH, undefined],
    ["Registers of a thread", textOf(shape.registers, count), undefined],
    ["Shared memory of a block", textOf(shape.shared_memory, (value) => `${count(value)}\u00a0B`), undefined],
    [
      "Launches like this",
      shape.shape_count === 1 ? `all ${count(launches)}` : `${count(shape.launches)} of ${count(launches)}`,
      `The most frequent of ${counted(shape.shape_count, "launch shape")}.`,
    ],
    [
      "Persistent",
      shape.persistent ? "yes" : "no",
      "By its name: yes, where its blocks loop over tiles until all is done, so that no last wave delays the launch.",
    ],
    metric("slot_efficiency", shape.slot_efficiency),
    metric("est_achieved_occupancy", shape.occupancy),
    metric("kineto_achieved_occupancy", shape.kineto_occupancy),
  ];
}

const textOf = (value: number | null, written: (value: number) => string): string =>
  value === null ? DASH : written(value);

const tableOf = (facts: readonly Fact[]): TableData => ({
  columns: [{ label: "Launch" }, { label: "Figure" }],
  rows: facts.map(([label, value]) => [label, value]),
});
