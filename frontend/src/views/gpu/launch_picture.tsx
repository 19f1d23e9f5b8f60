import type { DeviceGpu, LaunchShape } from "../../api.gen";
import type { TableData } from "../../components/data_table";
import { Picture } from "../../components/picture";
import { hint } from "../../dom/hint";
import { count, counted, DASH, percent } from "../../format";
import { sentence } from "../../phrase";
import type { Tab } from "../props";
import { type Launch, Waves, wavesHeight } from "./charts/waves";

interface LaunchPictureProps {
  shape: LaunchShape | null;
  /** The launches of the kernel, in all its shapes. */
  launches: number;
  device: DeviceGpu;
  tab: Tab;
  name: string;
  height: number;
}

/** The most frequent launch of a kernel as waves of blocks, with its figures. */
export function LaunchPicture({ shape, launches, device, tab, name, height }: LaunchPictureProps) {
  const title = titleOf(shape);
  const facts = shape ? factsOf(shape, launches, tab) : [];
  const launch = shape && launchOf(shape);
  return (
    <Picture title={title} name={`waves ${name}`} table={() => tableOf(facts)}>
      {launch ? (
        <Waves
          label={`${title}, in the most frequent launch shape.`}
          launch={launch}
          colour="kernel"
          height={Math.min(height, wavesHeight(launch.waves))}
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
    ["Registers of a thread", said(shape.registers, count), undefined],
    ["Shared memory of a block", said(shape.shared_memory, (value) => `${count(value)}\u00a0B`), undefined],
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

const said = (value: number | null, written: (value: number) => string): string =>
  value === null ? DASH : written(value);

const tableOf = (facts: readonly Fact[]): TableData => ({
  columns: [{ label: "Launch" }, { label: "Figure" }],
  rows: facts.map(([label, value]) => [label, value]),
});
