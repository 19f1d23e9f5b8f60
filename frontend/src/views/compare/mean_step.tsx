import type { OverviewResult, Parts } from "../../api.gen";
import type { Compared, Tab } from "../props";
import { pairsOf } from "./difference";
import { PartDifferences } from "./parts";

interface MeanStepDifferencesProps {
  result: OverviewResult;
  compared: Compared<"overview">;
  file: string;
  tab: Tab;
}

/** Which parts make one mean step longer than the other. */
export function MeanStepDifferences({ result, compared: { page, ...names }, file, tab }: MeanStepDifferencesProps) {
  const partsOf = ({ mean_parts_ns: mean }: OverviewResult) =>
    tab.meanings.parts.map(({ id, label, colour, hatched }) => ({
      ...{ id, label, colour, hatched },
      ns: mean[id as keyof Parts],
    }));
  return (
    <PartDifferences
      {...names}
      parts={pairsOf(partsOf(result), partsOf(page.result))}
      own_ns={result.mean_duration_ns}
      other_ns={page.result.mean_duration_ns}
      file={file}
      tab={tab}
    />
  );
}
