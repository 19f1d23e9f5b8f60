/** The GPUs that one process drives, side by side: the tiles speak of the busiest alone. */

import { useState } from "preact/hooks";
import type { DeviceFigures } from "../api.gen";
import { type Column, Table } from "../components/table";
import { counted, percent } from "../format";
import type { Meanings } from "../meanings";

/** Metrics of a device, with the field that holds each. */
const FIGURES = [
  ["gpu_utilization", "utilization"],
  ["est_sm_efficiency", "est_sm_efficiency"],
  ["est_achieved_occupancy", "est_achieved_occupancy"],
  ["kineto_achieved_occupancy", "kineto_achieved_occupancy"],
] as const;

export function Devices({ devices, meanings }: { devices: readonly DeviceFigures[]; meanings: Meanings }) {
  const [sort, setSort] = useState<string | undefined>();
  const figures = FIGURES.map(([metric, field]): Column<DeviceFigures> => {
    const { label, meaning } = meanings.metric(metric);
    return {
      id: field,
      label,
      meaning,
      numeric: true,
      cell: (device) => percent(device[field]),
      order: (device) => device[field],
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
        sort={sort}
        onSort={setSort}
      />
    </section>
  );
}
