/** The GPUs that one process drives, side by side: the tiles speak of the busiest alone. */

import type { DeviceFigures } from "../../api.gen";
import { type Column, Table } from "../../components/table";
import { counted } from "../../format";
import { sorting } from "../choices";
import type { Tab } from "../props";

/** Metrics of a device, with the field that holds each. */
const FIGURES = [
  ["gpu_utilization", "utilization"],
  ["est_sm_efficiency", "est_sm_efficiency"],
  ["est_achieved_occupancy", "est_achieved_occupancy"],
  ["kineto_achieved_occupancy", "kineto_achieved_occupancy"],
] as const;

export function Devices({ devices, tab }: { devices: readonly DeviceFigures[]; tab: Tab }) {
  const figures = FIGURES.map(([metric, field]): Column<DeviceFigures> => {
    const { label, meaning } = tab.meanings.metric(metric);
    return {
      id: field,
      label,
      meaning,
      figures: { of: (device) => device[field], unit: "fraction" },
    };
  });
  const names: Column<DeviceFigures>[] = [
    { id: "device", label: "GPU", width: "64px", cell: (device) => device.device, order: (device) => device.device },
    {
      id: "name",
      label: "Name",
      cell: (device) => <span data-hint={device.name}>{device.name}</span>,
      order: (device) => device.name,
    },
  ];
  return (
    <section class="devices">
      <div class="head">
        <h2>This process drives {counted(devices.length, "GPU")}</h2>
        <span class="sub">the busiest first; the figures above are its own</span>
      </div>
      <Table
        label="GPUs of this process"
        columns={[...names, ...figures]}
        rows={devices}
        rowKey={(device) => device.device}
        {...sorting(tab, "drives")}
      />
    </section>
  );
}
