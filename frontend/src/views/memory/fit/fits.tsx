/** Which batch fits: the peak at other batches, what fills it, and which settings change it. */

import { max } from "d3-array";
import { useState } from "preact/hooks";
import type { BatchFit, DeviceFit, FitSetting, ModuleBytes } from "../../../api.gen";
import { ValueGrid, valueAxis, zeroAxis } from "../../../charts/axes";
import { indexOf } from "../../../charts/pointer/pointing";
import { StopsPicture } from "../../../charts/pointer/stops_picture";
import type { TipContent } from "../../../charts/pointer/tip";
import { Code } from "../../../components/copy";
import { tableData } from "../../../components/data_table";
import { NoPicture, Picture } from "../../../components/picture";
import { Details } from "../../../components/sentence";
import { type Column, fileColumns, Table } from "../../../components/table";
import { sized } from "../../../dom/size";
import { textWidth } from "../../../dom/text_width";
import { bytes, ns, rate, type Scale, scaleFor, tick } from "../../../format";
import type { Meanings } from "../../../meanings";
import { sentence } from "../../../phrase";
import { titleOf } from "../../props";
import { figuresOf, nameColumn, TablePicture } from "../../table_picture";
import type { MemoryPart } from "../data";

/** The peak at other batches, and the largest batch that fits. */
export function Fits({ device: { fit }, place, titles, tab, name }: MemoryPart) {
  if (!fit) return null;
  if (fit.unknown) return <NoPicture title="Which batch fits?" why={tab.meanings.explain(fit.unknown)} />;
  return (
    <TablePicture
      title={titleOf({ titles }, `memory_fit.${place}`)}
      sub={recorded(fit)}
      name={`memory fit ${name}`}
      label="Memory at other batches"
      columns={fitColumns(tab.meanings)}
      rows={fit.peaks}
      rowKey={(row) => String(row.batch)}
      order={null}
      tab={tab}
    />
  );
}

/** The margin refers to allocated memory; what a caching allocator holds in addition is stated separately. */
function recorded({ batch, unused_bytes }: DeviceFit): string {
  const of = `recorded with a batch of ${batch}`;
  return unused_bytes == null ? of : `${of}; ${bytes(unused_bytes)} reserved, not used`;
}

function fitColumns(meanings: Meanings): Column<BatchFit>[] {
  const figure = figuresOf<BatchFit>(meanings);
  return [
    figure("batch", "memory_fit_batch", 64, (row) => row.batch),
    figure("peak", "memory_fit_peak", 96, (row) => row.peak_bytes),
    figure("low", "memory_fit_low", 80, (row) => row.low_bytes),
    figure("high", "memory_fit_high", 80, (row) => row.high_bytes),
  ];
}

const MADE: Partial<Record<ModuleBytes["kind"], string>> = {
  outside: "outside of ops",
  others: "others",
  before: "before the recording",
};

const madeBy = ({ path, kind }: ModuleBytes): string => path ?? MADE[kind] ?? kind;

/** What fills the peak, by the module that allocated it. */
export function ByModule({ device: { fit }, tab, name }: MemoryPart) {
  if (!fit?.modules?.length) return null;
  return (
    <TablePicture
      title="Which modules fill the peak?"
      details={fit.unnamed && tab.meanings.explain(fit.unnamed)}
      sub={`at a batch of ${fit.batch}`}
      name={`memory by module ${name}`}
      label="Memory at the peak by module"
      columns={moduleColumns(tab.meanings)}
      rows={fit.modules}
      rowKey={madeBy}
      order={null}
      tab={tab}
    />
  );
}

function moduleColumns(meanings: Meanings): Column<ModuleBytes>[] {
  const figure = figuresOf<ModuleBytes>(meanings);
  return [
    nameColumn("path", "Made in", madeBy),
    figure("bytes", "memory_fit_bytes", 80, (row) => row.bytes),
    figure("constant", "memory_fit_constant", 80, (row) => row.constant),
    figure("per_sample", "memory_fit_per_sample", 88, (row) => row.per_sample),
  ];
}

/** Memory against step time: each point is a setting, whose code is shown below when it is chosen. */
export function Settings({ device: { fit }, tab, name }: MemoryPart) {
  const [picked, setPicked] = useState<string | null>(null);
  const settings = fit?.settings ?? [];
  if (!fit || settings.length < 2) return null;
  const copies = settings.some(({ copied_bytes }) => copied_bytes !== null);
  const columns = settingColumns(tab.meanings).filter(
    ({ id }) => (id !== "largest" || fit.limit_bytes !== null) && (copies || !(id === "copied" || id === "copies")),
  );
  const chosen = settings.find(({ label }) => label === picked) ?? settings.find(({ best, code }) => best && code);
  return (
    <Picture
      title="How much memory do other settings need?"
      sub={settingsAt(fit)}
      name={`memory settings ${name}`}
      table={() => tableData(fileColumns(columns), settings)}
    >
      {settings.filter(({ peak_bytes, step_ns }) => peak_bytes !== null && step_ns !== null).length > 1 && (
        <SettingsChart
          settings={settings}
          limit={fit.limit_bytes ?? null}
          chosen={chosen?.label ?? null}
          choose={setPicked}
        />
      )}
      <Table
        label="Settings"
        columns={columns}
        rows={settings}
        rowKey={(row) => row.label}
        empty="No setting is known."
      />
      <Reasons fit={fit} meanings={tab.meanings} />
      {chosen?.code && (
        <section class="memory-setting" aria-label={chosen.label}>
          <h3>{chosen.label}</h3>
          <p class="quiet">{gainOf(chosen)}</p>
          <Code text={chosen.code} />
        </section>
      )}
    </Picture>
  );
}

/** The recorded batch, and the rates on which the times of copies rest. */
function settingsAt({ batch, rates }: DeviceFit): string {
  const of = `at a batch of ${batch}`;
  if (!rates) return of;
  const memory = rates.pinned ? "pinned" : "pageable";
  return `${of}; recorded copies of ${memory} memory: ${rate(rates.to_device)} to the GPU, ${rate(rates.to_host)} back`;
}

function gainOf({ peak_bytes, low_bytes, high_bytes, again_ns, copied_bytes, copy_ns }: FitSetting): string {
  const peak = `The peak is est. ${bytes(peak_bytes)} (${bytes(low_bytes)} to ${bytes(high_bytes)})`;
  if (copied_bytes !== null)
    return `${peak}, and each step copies ${bytes(copied_bytes)}${copy_ns === null ? "" : ` in est. ${ns(copy_ns)}`}.`;
  return again_ns ? `${peak}, and ${ns(again_ns)} of each step are computed again.` : `${peak}.`;
}

/** Why a peak or a time is not known, each reason once. */
function Reasons({ fit, meanings }: { fit: DeviceFit; meanings: Meanings }) {
  const reasons = (fit.settings ?? []).flatMap(({ unknown, no_time }) => [unknown, no_time]);
  const distinct = new Map(reasons.flatMap((reason) => (reason ? [[reason.code, reason]] : [])));
  if (distinct.size === 0) return null;
  return (
    <p class="quiet small">
      Some figures are not known.
      <Details text={[...distinct.values()].map((reason) => sentence(meanings.explain(reason))).join("\n")} />
    </p>
  );
}

/** An estimate of a batch has no more digits than the title. */
const SURE = 3;

function settingColumns(meanings: Meanings): Column<FitSetting>[] {
  const figure = figuresOf<FitSetting>(meanings);
  return [
    nameColumn("label", "Setting", (row) => row.label),
    figure("peak", "memory_setting_peak", 72, (row) => row.peak_bytes),
    figure("step", "memory_setting_step", 72, (row) => row.step_ns),
    figure("copied", "memory_setting_copied", 72, (row) => row.copied_bytes),
    figure("copies", "memory_setting_copies", 80, (row) => row.copy_ns),
    figure("largest", "memory_setting_largest", 88, (row) => row.largest && Number(row.largest.toPrecision(SURE))),
  ];
}

interface SettingsChartProps {
  settings: readonly FitSetting[];
  /** The memory of the device, bytes; null where it is not known. */
  limit: number | null;
  chosen: string | null;
  choose(label: string | null): void;
}

const HEIGHT = 240;
const [LEFT, RIGHT, TOP, FOOT] = [72, 16, 12, 176];
/** The distance from the bottom at which settings without a recorded time are drawn. */
const UNTIMED = FOOT + 34;
const GAPS = 4;
const NEAR_PX = 14;

/**
 * Settings by the memory of their peak and the time of their step.
 *
 *     ms  |  o Checkpoint every Block                |
 *         |     \\                                    | does
 *         |      o Checkpoint every Attention         | not
 *         |          \\        o (another is better)    | fit
 *         |           o As recorded                   |
 *         +-------------------------------------------+---
 *            ^     ^   time not recorded
 *
 * Filled points on the line: no other setting needs less of both. Arrow keys go through the settings, a click chooses
 * one.
 */
const SettingsChart = sized<SettingsChartProps>(Plot, HEIGHT);

function Plot({ settings, limit, chosen, choose, width }: SettingsChartProps & { width: number }) {
  const [pointed, setPointed] = useState<number | null>(null);
  const measured = settings.filter(({ peak_bytes }) => peak_bytes !== null);
  const axes = axesOf(measured, width);
  const points = placed(measured, { ...axes, untimed: UNTIMED, right: width });
  const at = pointed ?? indexOf(points, ({ setting }) => setting.label === chosen);
  const here = at === null ? undefined : points[at];
  const content = here ? tipOf(here.setting) : null;
  return (
    <StopsPicture
      class="settings-chart points"
      label="Settings by memory and step time"
      {...{ width, at, content }}
      height={HEIGHT}
      count={points.length}
      stopAt={(x, y) => nearestTo(points, x, y)}
      hover={(stop) => setPointed(stop)}
      select={(stop) => choose(stop === null ? null : points[stop]!.setting.label)}
      tip={{ content: pointed === null ? null : content, x: here?.x ?? 0, y: (here?.y ?? 0) + 10 }}
    >
      <Axes {...axes} limit={limit} width={width} untimed={points.some(({ setting }) => setting.step_ns === null)} />
      <polyline class="frontier" points={frontierOf(points)} />
      {points.map((point) => (
        <Point key={point.setting.label} point={point} chosen={point.setting.label === chosen} />
      ))}
    </StopsPicture>
  );
}

interface Axes {
  memory: Scale;
  time: Scale;
  memoryTicks: readonly number[];
  timeTicks: readonly number[];
  x(bytes: number): number;
  y(ns: number): number;
  /** The position of a tick, which is in the scale's own unit. */
  tickX(tick: number): number;
  tickY(tick: number): number;
}

function axesOf(settings: readonly FitSetting[], width: number): Axes {
  const peaks = settings.flatMap(({ peak_bytes }) => peak_bytes ?? []);
  const steps = settings.flatMap(({ step_ns }) => step_ns ?? []);
  const [memory, time] = [scaleFor(max(peaks) ?? 1, "bytes"), scaleFor(max(steps) ?? 1, "ns")];
  const across = zeroAxis(memory.of(max(peaks) ?? 1), width < 480 ? 3 : GAPS);
  const up = valueAxis(
    steps.map((step) => time.of(step)),
    false,
    GAPS,
  );
  const tickX = (value: number) => LEFT + (value / across.end) * (width - LEFT - RIGHT);
  const tickY = (value: number) => FOOT - ((value - up.low) / (up.high - up.low || 1)) * (FOOT - TOP);
  return {
    memory,
    time,
    memoryTicks: across.ticks,
    timeTicks: up.ticks,
    x: (value) => tickX(memory.of(value)),
    y: (value) => tickY(time.of(value)),
    tickX,
    tickY,
  };
}

function Axes({ memory, time, memoryTicks, timeTicks, x, tickX, tickY, limit, width, untimed }: Axes & AxesProps) {
  const right = width - RIGHT;
  const fits = limit === null ? right : Math.min(right, x(limit));
  const last = memoryTicks.length - 1;
  return (
    <>
      {fits < right && (
        <>
          <rect class="beyond" x={fits} y={TOP} width={right - fits} height={FOOT - TOP} />
          <line class="limit" x1={fits} x2={fits} y1={TOP} y2={FOOT} />
        </>
      )}
      <ValueGrid ticks={timeTicks} y={tickY} left={LEFT} right={right} unit={time.unit} />
      {memoryTicks.map((value, place) => (
        <text
          key={value}
          class={place === last ? "end" : "mid"}
          x={place === last ? width : tickX(value)}
          y={FOOT + 16}
        >
          {place === last ? `${tick(value)}\u00a0${memory.unit}` : tick(value)}
        </text>
      ))}
      {untimed && (
        <text class="second" x={LEFT} y={UNTIMED + 22}>
          time not recorded
        </text>
      )}
    </>
  );
}

interface AxesProps {
  limit: number | null;
  width: number;
  untimed: boolean;
}

function Point({ point: { setting, x, y, label }, chosen }: { point: Placed; chosen: boolean }) {
  return (
    <g>
      {chosen && <circle class="ring" cx={x} cy={y} r="8" />}
      <circle class={setting.best ? "best" : "hollow"} cx={x} cy={y} r="4.5" />
      {label && (
        <text class={label.end ? "halo end" : "halo"} x={label.end ? x - 10 : x + 10} y={y + 4}>
          {setting.label}
        </text>
      )}
    </g>
  );
}

/** The line through the settings that no other one beats, from the least memory on. */
const frontierOf = (points: readonly Placed[]): string =>
  points
    .filter(({ setting }) => setting.best)
    .sort((a, b) => a.x - b.x)
    .map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`)
    .join(" ");

/** The nearest point; null where none is near. */
function nearestTo(points: readonly Placed[], x: number, y: number): number | null {
  const apart = points.map((point) => Math.hypot(point.x - x, point.y - y));
  const least = Math.min(...apart);
  return least <= NEAR_PX ? apart.indexOf(least) : null;
}

function tipOf({ label, peak_bytes, step_ns, again_ns, copy_ns, largest }: FitSetting): TipContent {
  return {
    title: label,
    rows: [
      { name: "Peak, est.", value: bytes(peak_bytes) },
      { name: "Step, est.", value: step_ns === null ? "not recorded" : ns(step_ns) },
      ...(again_ns ? [{ name: "Computed again", value: ns(again_ns) }] : []),
      ...(copy_ns === null ? [] : [{ name: "Copies, est.", value: ns(copy_ns) }]),
      ...(largest === null ? [] : [{ name: "Largest batch", value: String(largest) }]),
    ],
    act: "A press shows its code.",
  };
}

interface Placed {
  setting: FitSetting;
  x: number;
  y: number;
  /** end: the label is to the left of its point; null: there is no room for it. */
  label: { end: boolean } | null;
}

interface Frame {
  x(bytes: number): number;
  y(ns: number): number;
  /** The y position of settings whose time is not recorded. */
  untimed: number;
  right: number;
}

interface Box {
  from: number;
  to: number;
  y: number;
}

const APART = 10;
const LINE = 13;

/**
 * Where settings are in the picture, and which of their names there is room for: the best ones are labelled first, each
 * to the right of its point or to its left.
 */
export function placed(settings: readonly FitSetting[], { x, y, untimed, right }: Frame): Placed[] {
  const points = settings.map((setting) => ({
    setting,
    x: x(setting.peak_bytes ?? 0),
    y: setting.step_ns === null ? untimed : y(setting.step_ns),
  }));
  const occupied: Box[] = points.map((point) => ({ from: point.x - 6, to: point.x + 6, y: point.y }));
  const labels = new Map<string, { end: boolean }>();
  for (const point of [...points].sort((a, b) => Number(b.setting.best) - Number(a.setting.best))) {
    const width = textWidth(point.setting.label);
    const sides = [
      { end: false, from: point.x + APART, to: point.x + APART + width },
      { end: true, from: point.x - APART - width, to: point.x - APART },
    ];
    const side = sides.find(
      ({ from, to }) => from >= 0 && to <= right && occupied.every((box) => apart(box, from, to, point.y)),
    );
    if (!side) continue;
    occupied.push({ from: side.from, to: side.to, y: point.y });
    labels.set(point.setting.label, { end: side.end });
  }
  return points.map((point) => ({ ...point, label: labels.get(point.setting.label) ?? null }));
}

const apart = (box: Box, from: number, to: number, y: number): boolean =>
  to < box.from || from > box.to || Math.abs(box.y - y) >= LINE;
