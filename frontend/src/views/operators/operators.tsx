/** What each op costs on the CPU and on the GPU, split by shapes, module or line, and what each module costs. */

import { WHOLE_RECORDING } from "../../address/selection";
import { recordingOf } from "../../components/about";
import { Chips } from "../../components/chips";
import { Details } from "../../components/sentence";
import { sentence } from "../../phrase";
import type { SpanViewProps } from "../props";
import { OpDetails } from "./detail";
import { FlameGraph } from "./flame/picture";
import { Modules } from "./modules";
import { OpTable } from "./op_table";
import { Lines } from "./source/lines";
import { knowsWhere, type OperatorPart } from "./tables";

/** What was not recorded, by the text that says how to record it. */
const MISSING = { no_ops: "ops", no_shapes: "shapes", no_stacks: "call stacks", no_modules: "modules" } as const;

export function Operators({ page, tab, compared }: SpanViewProps<"operators">) {
  const { result, head, titles } = page;
  const part: OperatorPart = { result, titles, tab, name: recordingOf(head), compared };
  const opened = tab.state.op;
  const idle = result.recorded.ops && result.tables.every(({ rows }) => rows.length === 0);
  const missing = (Object.keys(MISSING) as (keyof typeof MISSING)[]).filter((id) => titles[id]);
  return (
    <div class="view" data-view="operators">
      <Controls {...part} />
      {idle ? <NoOps tab={tab} /> : result.recorded.ops && <OpTable {...part} />}
      {opened !== undefined && <OpDetails key={opened} op={opened} {...part} close={() => tab.update({ op: null })} />}
      {result.lines && <Lines part={part} span={head.id} />}
      {result.recorded.ops && !idle && <FlameGraph part={part} span={head.id} />}
      {result.folded.length > 0 && <Modules {...part} />}
      {missing.length > 0 && (
        <p class="missing quiet small">
          Not recorded: {missing.map((id) => MISSING[id]).join(", ")}
          <Details text={missing.map((id) => sentence(titles[id]!)).join("\n")} />
        </p>
      )}
    </div>
  );
}

/**
 * Shown where the steps contain no ops: there is nothing to split, filter or invert; the recording around them may
 * contain some.
 */
function NoOps({ tab }: Pick<OperatorPart, "tab">) {
  return (
    <section class="unknown">
      <h2>Which ops take the time?</h2>
      <p class="quiet">
        No op begins in the steps.{" "}
        {tab.state.steps !== WHOLE_RECORDING && (
          <button class="link" onClick={() => tab.update({ steps: WHOLE_RECORDING })}>
            Show the whole recording
          </button>
        )}
      </p>
    </section>
  );
}

const WINDOWS = [
  { id: "steps", label: "Steps", meaning: "Ops that begin within the steps." },
  { id: "recording", label: "Recording", meaning: "All ops; the whole recording is one step." },
];

const WAYS = [
  { id: "ran", label: "Where it ran", meaning: "Work of the backward pass counts for the ops of that pass." },
  {
    id: "made",
    label: "Where it was made",
    meaning:
      "Work of the backward pass counts for the op of the forward pass that made it, and for its line and module.",
  },
];

/** What the sums refer to, and to which op work of the backward pass is assigned. */
function Controls({ result, tab }: OperatorPart) {
  return (
    <div class="controls">
      <Chips
        label="Which part of the recording"
        name="Sums over"
        chosen={tab.state.steps === WHOLE_RECORDING ? "recording" : "steps"}
        options={WINDOWS}
        choose={(id) => tab.update({ steps: id === "recording" ? WHOLE_RECORDING : null })}
      />
      {knowsWhere(result) && (
        <Chips
          label="Where work of the backward pass counts"
          name="Backward"
          chosen={tab.state.work ?? "ran"}
          options={WAYS}
          choose={(id) => tab.update({ work: id === "made" ? "made" : null })}
        />
      )}
    </div>
  );
}
