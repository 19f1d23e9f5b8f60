/**
 * Choices that several views offer: the GPU that a view shows; the metric that a picture shows, a few as buttons and
 * all others in a list with their meanings.
 */

import type { Metric } from "../api.gen";
import { Chips } from "../components/chips";
import { Dropdown } from "../components/popup";
import { count } from "../format";
import type { TimeRange } from "../time_range";
import type { Tab } from "./props";

interface MetricChipsProps {
  metric: Metric;
  metrics: readonly Metric[];
  /** Ids of the metrics with a button; the chosen one takes the last place where it is not among them. */
  quick: readonly string[];
  choose(id: string): void;
}

export function MetricChips({ metric, metrics, quick: few, choose }: MetricChipsProps) {
  const inSight = few.includes(metric.id) ? few : [...few.slice(0, -1), metric.id];
  const quick = metrics.filter(({ id }) => inSight.includes(id));
  return (
    <Chips
      label="Metric"
      name="Metric"
      chosen={metric.id}
      options={quick.map(({ id, label, meaning }) => ({ id, label, meaning }))}
      choose={choose}
    >
      <Dropdown name={`All ${count(metrics.length)}…`} search="Search metrics">
        {(typed, close) => (
          <MetricList
            typed={typed}
            metric={metric}
            metrics={metrics}
            choose={(id) => {
              close();
              choose(id);
            }}
          />
        )}
      </Dropdown>
    </Chips>
  );
}

interface MetricListProps {
  typed: string;
  metric: Metric;
  metrics: readonly Metric[];
  choose(id: string): void;
}

function MetricList({ typed, metric, metrics, choose }: MetricListProps) {
  const found = metrics.filter(({ label, meaning, id }) => `${label} ${meaning} ${id}`.toLowerCase().includes(typed));
  if (found.length === 0) return <p class="quiet">No metric matches “{typed}”.</p>;
  return (
    <>
      {found.map(({ id, label, meaning }) => (
        <button key={id} aria-pressed={id === metric.id} onClick={() => choose(id)}>
          <b>{label}</b>
          <span>{meaning}</span>
        </button>
      ))}
    </>
  );
}

/** A link that ends the zoom, where there is one. */
export const ShowAll = ({ zoom, tab }: { zoom: TimeRange | null; tab: Tab }) =>
  zoom && (
    <button class="link" onClick={() => tab.update({ zoom: null })}>
      Show all
    </button>
  );

/** The GPU that the address names, else the first. */
export const chosenGpu = <Gpu extends { device: number }>(gpus: readonly Gpu[], { state }: Tab): Gpu | undefined =>
  gpus.find(({ device }) => device === state.device) ?? gpus[0];

interface GpuChipsProps {
  gpus: readonly { device: number; name: string }[];
  tab: Tab;
}

/** The choice among several GPUs. */
export const GpuChips = ({ gpus, tab }: GpuChipsProps) =>
  gpus.length > 1 ? (
    <DeviceChips
      chosen={chosenGpu(gpus, tab)!.device}
      choose={(device) => tab.update({ device })}
      devices={gpus.map(({ device, name }) => ({ id: device, label: `GPU ${device}`, meaning: name }))}
    />
  ) : null;

interface DeviceChipsProps {
  devices: readonly { id: number; label: string; meaning: string }[];
  chosen: number;
  choose(device: number): void;
}

export const DeviceChips = ({ devices, chosen, choose }: DeviceChipsProps) => (
  <div class="controls">
    <Chips
      label="Device"
      name="Device"
      chosen={String(chosen)}
      choose={(id) => choose(Number(id))}
      options={devices.map((each) => ({ ...each, id: String(each.id) }))}
    />
  </div>
);
