/** Which batch fits: the peak at other batches, what fills it, and which settings change it. */

import { useState } from "preact/hooks";
import type { BatchFit, DeviceFit, FitSetting, ModuleBytes } from "../../../api.gen";
import { Code } from "../../../components/copy";
import { tableData } from "../../../components/data_table";
import { NoPicture, Picture } from "../../../components/picture";
import { Details } from "../../../components/sentence";
import { type Column, fileColumns, Table } from "../../../components/table";
import { bytes, ns, rate } from "../../../format";
import type { Meanings } from "../../../meanings";
import { sentence } from "../../../phrase";
import { titleOf } from "../../props";
import { figuresOf, TablePicture } from "../../table_picture";
import type { MemoryPart } from "../data";
import { nameCell } from "../tables";
import { SettingsChart } from "./settings_chart";

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
    { id: "path", label: "Made in", order: madeBy, cell: (row) => nameCell(madeBy(row)) },
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
      title="Which settings need less memory?"
      sub={settingsAt(fit)}
      name={`memory settings ${name}`}
      table={() => tableData(fileColumns(columns), settings)}
    >
      {settings.filter(({ peak_bytes }) => peak_bytes !== null).length > 1 && (
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
    { id: "label", label: "Setting", order: (row) => row.label, cell: (row) => nameCell(row.label) },
    figure("peak", "memory_setting_peak", 72, (row) => row.peak_bytes),
    figure("step", "memory_setting_step", 72, (row) => row.step_ns),
    figure("copied", "memory_setting_copied", 72, (row) => row.copied_bytes),
    figure("copies", "memory_setting_copies", 80, (row) => row.copy_ns),
    figure("largest", "memory_setting_largest", 88, (row) => row.largest && Number(row.largest.toPrecision(SURE))),
  ];
}
