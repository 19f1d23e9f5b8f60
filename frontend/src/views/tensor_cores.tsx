/** How much kernel time runs on tensor cores, could, or cannot be told; which kernels, and why. */

import { Chips } from "../components/chips";
import { Sentence } from "../components/sentence";
import { SeriesTile } from "../components/series_tile";
import { Tiles } from "../components/tile";
import { useChosen } from "./chosen";
import type { SpanViewProps } from "./props";
import { KernelTable } from "./tensor_cores/kernel_table";
import { SplitPicture } from "./tensor_cores/split";
import { SplitSteps } from "./tensor_cores/split_steps";

export function TensorCores({ page, tab }: SpanViewProps<"tensor_cores">) {
  const { result, head } = page;
  const chosen = useChosen(tab);
  const device = result.devices.find((each) => String(each.device) === tab.state["device"]) ?? result.devices[0];
  const off = hiddenBins(tab.state["bins"]);
  const name = `${head.run} ${head.worker} span ${head.number}`;
  // The server's titles speak of the first device.
  const main = device === result.devices[0];
  return (
    <div class="view" data-view="tensor_cores">
      {result.unknown && <p class="unknown"><Sentence phrase={result.unknown} /></p>}
      {device && result.devices.length > 1 && (
        <div class="controls">
          <Chips
            label="Device" name="Device" chosen={String(device.device)} choose={(id) => tab.update({ device: id })}
            options={result.devices.map((each) => ({ id: String(each.device), label: `GPU ${each.device}`, meaning: each.name }))}
          />
        </div>
      )}
      {main && result.tiles.length > 0 && (
        <Tiles label="Tensor cores in this span">
          {result.tiles.map((series) => <SeriesTile key={series.metric} series={series} remark={undefined} head={head} neighbours={page.neighbours} meanings={tab.meanings} />)}
        </Tiles>
      )}
      {device && device.total.kernel_ns > 0 && (
        <>
          <div class="tensor-split">
            <SplitPicture
              device={device} title={main ? result.split_title : { template: `Kernel time of GPU ${device.device}`, values: {} }} off={off} tab={tab} name={name}
              choose={(next) => tab.update({ bins: next.size ? [...next].join(",") : null })}
            />
            <SplitSteps device={device} off={off} chosen={chosen} tab={tab} name={name} />
          </div>
          <KernelTable device={device} title={main ? result.kernels_title : { template: `Kernels of GPU ${device.device}`, values: {} }} off={off} tab={tab} name={name} />
        </>
      )}
    </div>
  );
}

const hiddenBins = (key: string | undefined): ReadonlySet<string> => new Set((key ?? "").split(",").filter((bin) => bin !== ""));
