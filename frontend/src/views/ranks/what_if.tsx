/** What a step of the job would take after changes to its ranks, and with more of them: a sentence and a bar each. */

import type { JobReplay, Phrase, WhatIfTexts } from "../../api.gen";
import { Sentence } from "../../components/sentence";
import type { Column } from "../../components/table";
import { sentence } from "../../phrase";
import type { Tab } from "../props";
import { barColumn, TablePicture } from "../table_picture";

interface WhatIfProps {
  found: JobReplay;
  said: WhatIfTexts;
  name: string;
  tab: Tab;
}

/** One of the predictions; the replay itself comes first. */
interface WhatIfRow {
  text: Phrase;
  step_ns: number;
}

export function WhatIf({ found, said, name, tab }: WhatIfProps) {
  const { changes, larger } = found;
  const rows = [
    { text: said.replay, step_ns: found.replayed_step_ns },
    ...said.changes.map((text, at) => ({ text, step_ns: changes[at]!.step_ns })),
    ...said.larger.map((text, at) => ({ text, step_ns: larger[at]!.step_ns })),
  ];
  const longest = Math.max(1, ...rows.map(({ step_ns }) => step_ns));
  const columns: Column<WhatIfRow>[] = [
    {
      id: "change",
      label: "Prediction",
      cell: ({ text }) => (
        <span class="prediction">
          <Sentence phrase={text} />
        </span>
      ),
      file: [
        { label: "Prediction", of: ({ text }) => sentence(text) },
        { label: "Step", unit: "ns", of: ({ step_ns }) => step_ns },
      ],
    },
    barColumn(({ step_ns }) => [{ share: step_ns / longest, colour: "kernel" }], "30%"),
  ];
  return (
    <TablePicture
      title="What a step could take"
      sub="est."
      name={`predictions ${name}`}
      label="Predictions for the job"
      columns={columns}
      rows={rows}
      rowKey={({ text }) => sentence(text)}
      order={null}
      tab={tab}
    >
      {said.remark && (
        <p class="quiet small aside">
          <Sentence phrase={said.remark} />
        </p>
      )}
    </TablePicture>
  );
}
