/** How full the GPU is over time, what its kernel time is spent on, and each kernel by name, op, module or line. */

import type { DeviceGpu, Split } from "../../api.gen";
import { recordingOf } from "../../components/about";
import { tableData } from "../../components/data_table";
import { Words } from "../../components/sentence";
import { type FileColumn, nsColumn } from "../../components/table";
import { chosenGpu, GpuChips } from "../chips";
import { readingOf, useStepSelection } from "../choices";
import { type Compared, type SpanViewProps, titleOf } from "../props";
import { type Bin, binsOf, KernelTime } from "../tensor_cores/bins";
import { More } from "../tiles";
import { KernelDetails } from "./detail";
import { GpuKernels, type OtherGpu } from "./kernel_table";
import { GpuOverTime } from "./over_time";
import { GpuRoofline, RooflineTable } from "./roofline";

export function Gpu({ page, tab, compared }: SpanViewProps<"gpu">) {
  const { result, head } = page;
  const chosen = useStepSelection(tab);
  const device = chosenGpu(result.devices, tab);
  const name = `${recordingOf(head)}${result.devices.length > 1 ? ` GPU ${device?.device}` : ""}`;
  const opened = tab.state.opened ?? null;
  const open = (kernel: string) => tab.update({ opened: kernel === opened ? null : kernel });
  const other = otherDevice(device, compared);
  const roofline = device?.roofline ?? false;
  return (
    <div class="view" data-view="gpu">
      <GpuChips gpus={result.devices} tab={tab} />
      {device && (
        <GpuOverTime
          {...{ result, device, chosen, tab, name }}
          title={titleOf(page, `time_bins.${device.device}`)}
          head={head}
        />
      )}
      {device && device.split.kernel_ns > 0 && (
        <>
          <GpuKernels
            {...{ device, other, tab, name, opened, open }}
            steps={result.steps.length}
            title={titleOf(page, `kernels.${device.device}`)}
            titles={page.titles}
          />
          {opened !== null && (
            <KernelDetails
              key={`${device.device} ${opened}`}
              {...{ device, result, tab, name }}
              kernel={opened}
              noLines={page.titles.no_lines}
              close={() => tab.update({ opened: null })}
            />
          )}
          {roofline && (
            <GpuRoofline
              {...{ roofline, tab, name, opened, open }}
              kernelNs={device.split.kernel_ns}
              title={titleOf(page, `roofline.${device.device}`)}
            />
          )}
          <More
            of={[
              `use of ${tab.meanings.viewTitle("tensor_cores").toLowerCase()}`,
              roofline && roofline.dots.length > 0 && "ops by roofline",
            ]}
            tab={tab}
          >
            <KernelTime
              {...{ tab, name }}
              split={device.split}
              reading={readingOf(tab)}
              title={titleOf(page, `split.${device.device}`)}
              kernelTime={titleOf(page, `kernel_time.${device.device}`)}
              after={
                <>
                  .{" "}
                  <button class="link" onClick={() => tab.update({ view: "tensor_cores" })}>
                    {tab.meanings.viewTitle("tensor_cores")}
                  </button>
                </>
              }
              table={() => tableData(splitColumns(device.split), binsOf(tab.meanings))}
              other={
                other && other.device.split.kernel_ns > 0
                  ? { name: other.name, split: other.device.split, reading: readingOf({ ...tab, steps: other.steps }) }
                  : null
              }
            />
            {roofline && roofline.dots.length > 0 && <RooflineTable {...{ roofline, tab, name, opened, open }} />}
            <Words view="gpu" />
          </More>
        </>
      )}
    </div>
  );
}

const splitColumns = (split: Split): FileColumn<Bin>[] => [
  { label: "Kernel time", of: ({ label }) => label },
  nsColumn("Total", (bin) => bin.of(split)),
  { label: "Share", unit: "fraction", of: (bin) => bin.of(split) / split.kernel_ns },
];

/** The GPU of the same number in the other span, else its only one. */
function otherDevice(device: DeviceGpu | undefined, compared: Compared<"gpu"> | null): OtherGpu | null {
  if (!device || !compared) return null;
  const { devices, steps } = compared.page.result;
  const found =
    devices.find((each) => each.device === device.device) ?? (devices.length === 1 ? devices[0] : undefined);
  return found ? { name: compared.name, own: compared.own, device: found, steps: steps.length } : null;
}
