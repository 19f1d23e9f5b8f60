import { mean } from "d3-array";
import type { Blocker, DeviceIdle, SeveralDevices } from "../../api.gen";
import { totalsText } from "../../components/figures";
import { type Column, fileFields, nsColumn } from "../../components/table";
import { text } from "../../format";
import type { Meanings } from "../../meanings";
import { readingOf } from "../choices";
import { type HostPart, titleOf } from "../props";
import { figureColumn, nameColumn, TablePicture } from "../table_picture";
import { IdleCell, idleOf, reasonOf } from "./reasons";

/** The GPUs of one process: whether they work at the same time, and which op for one GPU keeps another waiting. */
export function SeveralGpus({ result, titles, tab, name, several }: HostPart & { several: SeveralDevices }) {
  const { devices } = result;
  return (
    <>
      <TablePicture
        title={titleOf({ titles }, "devices")}
        sub={`${totalsText(readingOf(tab))}; ${text(several.concurrency, "number")} work at a time while any works`}
        name={`devices ${name}`}
        label="GPUs of this process"
        columns={deviceColumns(devices, tab.meanings)}
        rows={devices}
        rowKey={(row) => row.device}
        order="gpus"
        tab={tab}
      />
      {several.blockers.length > 0 && (
        <TablePicture
          title="Which op keeps which GPU waiting?"
          sub={totalsText(readingOf(tab))}
          name={`holders ${name}`}
          label="Ops that keep another GPU waiting"
          columns={blockerColumns}
          rows={several.blockers}
          rowKey={(row) => `${row.op} ${row.by_device} ${row.idle_device}`}
          order="holders"
          maxRows={10}
          tab={tab}
        />
      )}
    </>
  );
}

function deviceColumns(devices: readonly DeviceIdle[], { idle_reasons: reasons }: Meanings): Column<DeviceIdle>[] {
  const longest = devices.reduce((most, row) => Math.max(most, idleOf(row.mean)), 0);
  return [
    {
      id: "device",
      label: "GPU",
      order: (row) => row.device,
      cell: (row) => (
        <>
          GPU {row.device}
          <span class="faint"> {row.name}</span>
        </>
      ),
      file: [{ label: "GPU", of: (row) => String(row.device) }, ...fileFields<DeviceIdle>({ name: "Name" })],
    },
    figureColumn("busy", "Works", 76, "ns", (row) => mean(row.busy_ns) ?? 0, { adds: "step", siblings: "time" }),
    {
      ...figureColumn("idle", "Idle", 180, "ns", (row) => idleOf(row.mean), { adds: "step", siblings: "time" }),
      cell: (row, _, write) => <IdleCell idle={row.mean} reasons={reasons} longest={longest} write={write} />,
      file: reasons.map((reason) => nsColumn(reason.label, (row) => reasonOf(row.mean, reason))),
    },
  ];
}

const blockerColumns: Column<Blocker>[] = [
  nameColumn("op", "Op that blocks", (row) => row.op),
  {
    id: "by",
    label: "Works for",
    width: "88px",
    order: (row) => row.by_device,
    cell: (row) => `GPU ${row.by_device}`,
    file: [{ label: "Works for GPU", of: (row) => String(row.by_device) }],
  },
  {
    id: "waits",
    label: "Waits",
    width: "64px",
    order: (row) => row.idle_device,
    cell: (row) => `GPU ${row.idle_device}`,
    file: [{ label: "GPU that waits", of: (row) => String(row.idle_device) }],
  },
  figureColumn("idle", "Idle", 76, "ns", (row) => row.idle_ns, { adds: "step" }),
];
