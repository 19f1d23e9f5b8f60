/** How much kernel time runs on tensor cores, could run there, or is not known; which kernels, and why. */

import { recordingOf } from "../../components/about";
import { chosenGpu, GpuChips } from "../chips";
import { useStepSelection } from "../choices";
import { type SpanViewProps, titleOf } from "../props";
import { More, SeriesTiles } from "../tiles";
import { hiddenBins } from "./bins";
import { KernelTable } from "./kernel_table";
import { OpportunityTable } from "./opportunity_table";
import { RateTable } from "./rate_table";
import { SplitPicture, SplitSteps } from "./split";

export function TensorCores({ page, tab, compared }: SpanViewProps<"tensor_cores">) {
  const { result, head } = page;
  const chosen = useStepSelection(tab);
  const device = chosenGpu(result.devices, tab);
  const off = hiddenBins(tab);
  const name = recordingOf(head);
  const tiled = device === result.devices[0] && result.tiles.length > 0;
  const other = compared?.page.result.devices.find((each) => each.device === device?.device) ?? null;
  const several = (device?.steps.length ?? 0) > 1;
  const split = other && { name: compared!.name, own: compared!.own, device: other };
  return (
    <div class="view" data-view="tensor_cores">
      <GpuChips gpus={result.devices} tab={tab} />
      {device && device.total.kernel_ns > 0 && (
        <>
          <div class={several ? "tensor-split" : "tensor-split whole"}>
            <SplitPicture
              {...{ device, tab, name }}
              title={titleOf(page, `split.${device.device}`)}
              kernelTime={titleOf(page, `kernel_time.${device.device}`)}
              other={split}
            />
            {several && <SplitSteps device={device} off={off} chosen={chosen} tab={tab} name={name} />}
          </div>
          {device.share_high !== null && <OpportunityTable device={device} other={split} tab={tab} name={name} />}
          {device.rates && device.rates.rows.length > 0 && (
            <RateTable rates={device.rates} steps={device.steps.length} other={split} tab={tab} name={name} />
          )}
          <More of={["kernels", tiled && "figures"]} tables={["kernels"]} tab={tab}>
            <KernelTable
              {...{ device, off, tab, name }}
              title={titleOf(page, `kernels.${device.device}`)}
              other={split}
            />
            {tiled && (
              <SeriesTiles
                label={`${tab.meanings.viewTitle("tensor_cores")} in this span`}
                tiles={result.tiles}
                page={page}
                tab={tab}
                compared={compared}
              />
            )}
          </More>
        </>
      )}
    </div>
  );
}
