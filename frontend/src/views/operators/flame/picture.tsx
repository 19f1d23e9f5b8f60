import { sum } from "d3-array";
import { useContext, useMemo, useRef } from "preact/hooks";
import { lineName } from "../../../code_line";
import { AboutContext, fileStem } from "../../../components/about";
import { Chips } from "../../../components/chips";
import type { TableData } from "../../../components/data_table";
import { factorOf, totalsText } from "../../../components/figures";
import { SearchField } from "../../../components/filter";
import { Picture } from "../../../components/picture";
import { NotYet } from "../../../components/waiting";
import { saveText } from "../../../dom/save";
import { bytes, counted, ns, share } from "../../../format";
import { readingOf } from "../../choices";
import { knowsWhere, type OperatorPart } from "../tables";
import { type FlameAnswer, useFlamePage, useSeen } from "./data";
import { turned, without } from "./shapes";
import { EMPTY_PX, howToRead, Stage, useKinds } from "./stage";
import { type Hits, hitsOf, largestOf, type Measure, measuresOf, ownOf, pathTo, type Tree, treeOf } from "./tree";

const GROUPINGS = [
  { id: "stack", label: "Line", meaning: "Lines of your code above the ops that they call." },
  { id: "module", label: "Module", meaning: "Modules above the ops that they call." },
  { id: "op", label: "Op", meaning: "Ops above the ops that they call." },
] as const;

const MEASURES: Readonly<Record<Measure, { label: string; meaning: string }>> = {
  device: { label: "Device", meaning: "Lengths of kernels, copies and memory sets on the GPU." },
  host: {
    label: "Host",
    meaning: "Time in ops on the CPU, and in their calls of the runtime. Python between ops is not in it.",
  },
  idle: {
    label: "GPU idle",
    meaning: "How long the GPU had nothing to do until what was launched here began. Waits for batches are left out.",
  },
  bytes: { label: "Memory", meaning: "Bytes allocated, also those that are freed again." },
};

const DIRECTIONS = [
  { id: "down", label: "Top down", meaning: "What is called stands under its caller." },
  { id: "up", label: "Bottom up", meaning: "What takes the time itself stands first; its callers stand under it." },
];

const TITLES: Readonly<Record<Measure, string>> = {
  device: "Which code takes the GPU's time?",
  host: "Which code takes the CPU's time?",
  idle: "Which code lets the GPU idle?",
  bytes: "Which code allocates memory?",
};

/** Call paths as boxes, whose width is the cost of a frame and of everything that it calls. */
export function FlameGraph({ part, span }: { part: OperatorPart; span: string }) {
  const { result, tab, name } = part;
  const box = useRef<HTMLDivElement>(null);
  const isVisible = useSeen(box);
  const groupings = GROUPINGS.filter(
    ({ id }) => id === "op" || (id === "stack" ? result.recorded.stacks : result.recorded.modules),
  );
  const by = groupings.find(({ id }) => id === tab.state.paths)?.id ?? groupings[0]!.id;
  const where = (knowsWhere(result) && tab.state.work) || "ran";
  const answer = useFlamePage(tab.source, span, { by, where }, isVisible);
  const up = tab.state.turned === "up";
  return (
    <div ref={box}>
      <Drawn
        key={`${by} ${where}`}
        answer={answer}
        part={part}
        up={up}
        name={`call paths by ${by} ${name}`}
        tools={
          groupings.length > 1 && (
            <Chips
              label="What is above the ops"
              name="Group by"
              chosen={by}
              options={groupings}
              choose={(id) => tab.update({ paths: id === groupings[0]!.id ? null : (id as typeof by), frame: null })}
            />
          )
        }
      />
    </div>
  );
}

interface DrawnProps {
  answer: FlameAnswer;
  part: OperatorPart;
  up: boolean;
  name: string;
  tools: preact.ComponentChildren;
}

function Drawn({ answer, part: { result, tab }, up, name, tools }: DrawnProps) {
  const { page, problem } = answer;
  const stem = fileStem(useContext(AboutContext), name);
  const measures = page ? measuresOf(page) : [];
  const measure =
    measures.find((each) => each === tab.state.cost) ?? measures[0] ?? (result.has_device ? "device" : "host");
  const hidden = useKinds(tab.state.kinds);
  const recorded = useMemo(() => page && treeOf(page, measure), [page, measure]);
  const tree = useMemo(() => {
    if (!recorded) return null;
    const down = without(recorded, hidden);
    return up ? turned(down) : down;
  }, [recorded, hidden, up]);
  const reading = { ...readingOf(tab), steps: result.steps.length }; // the graph sums up whole steps
  const factor = factorOf("recording", reading);
  const text = (value: number) => (measure === "bytes" ? bytes : ns)(value * factor);
  const typed = tab.state.seek ?? "";
  const hits = useMemo(() => (tree ? hitsOf(tree, typed) : null), [tree, typed]);
  const whole = tree?.value[0] ?? 0;
  return (
    <Picture
      title={TITLES[measure]}
      sub={tree ? `${text(whole)} ${totalsText(reading)}` : undefined}
      details={page && howToRead(page)}
      name={name}
      table={() => flameTable(tree, measure, factor)}
      entries={recorded ? savings(recorded, measure, stem) : []}
      tools={
        <div class="flame-tools">
          {measures.length > 1 && (
            <Chips
              label="What the widths are"
              name="Width"
              chosen={measure}
              options={measures.map((id) => ({ id, ...MEASURES[id] }))}
              choose={(id) => tab.update({ cost: id === measures[0] ? null : (id as Measure) })}
            />
          )}
          {tools}
          <Chips
            label="Direction"
            chosen={up ? "up" : "down"}
            options={DIRECTIONS}
            choose={(id) => tab.update({ turned: id === "up" ? "up" : null, frame: null })}
          />
          <SearchField
            label="Find frames"
            placeholder="Find frames"
            typed={typed}
            change={(seek) => tab.update({ seek: seek || null })}
          />
          <span class="sub filtered" role="status">
            {hits && foundIn(hits, whole, text, measure)}
          </span>
        </div>
      }
    >
      {page && tree && recorded && whole > 0 ? (
        <Stage
          tree={tree}
          whole={recorded}
          hidden={hidden}
          hide={(kinds) => tab.update({ kinds: kinds.size > 0 ? kinds : null })}
          hits={hits}
          text={text}
          label={TITLES[measure]}
          frame={tab.state.frame}
          line={tab.state.line}
          zoomTo={(frame, line) => tab.update({ frame, ...(line !== null && { line }) })}
        />
      ) : (
        <NotYet
          problem={problem}
          reads={page ? "No op begins in the steps." : "The trace is being read."}
          height_px={EMPTY_PX}
        />
      )}
    </Picture>
  );
}

const WHOLES: Readonly<Record<Measure, string>> = {
  device: "device time",
  host: "host time",
  idle: "GPU idle time",
  bytes: "allocated bytes",
};

/** "70 % of device time, 7.0 ms in 14 frames". */
function foundIn({ frames, sum }: Hits, whole: number, text: (value: number) => string, measure: Measure): string {
  if (frames === 0) return "none";
  return `${share(whole > 0 ? sum / whole : 0)} of ${WHOLES[measure]}, ${text(sum)} in ${counted(frames, "frame")}`;
}

/** Files with the complete tree, from the callers down: other programs can hide and invert by themselves. */
const savings = (tree: Tree, measure: Measure, name: string) => [
  { label: "Save as folded stacks", choose: () => saveText(`${name}.folded`, folded(tree), "text/plain") },
  {
    label: "Save for speedscope",
    choose: () => saveText(`${name}.speedscope.json`, speedscope(tree, measure, name), "application/json"),
  },
];

export function flameTable(tree: Tree | null, measure: Measure, factor = 1): TableData {
  const unit = measure === "bytes" ? ("bytes" as const) : ("ns" as const);
  return {
    columns: [{ label: "Frame" }, { label: "Kind" }, { label: "Self", unit }, { label: "Total", unit }],
    rows: (tree ? largestOf(tree) : []).map(({ label, own, value }) => [
      lineName(tree!.names[label]!),
      tree!.kinds[label]!,
      own * factor,
      value * factor,
    ]),
  };
}

/** Call paths in the formats of other programs: folded stacks (flamegraph.pl) and speedscope's JSON. */
interface Stack {
  path: readonly number[];
  spent: number;
}

/** The labels from the outermost frame on, and the last one's own cost. */
function stacksOf(tree: Tree): Stack[] {
  return [...ownOf(tree)].flatMap((spent, at) => {
    if (at === 0 || spent <= 0) return [];
    const [, ...frames] = pathTo(tree, at);
    return [{ path: frames.map((frame) => tree.label[frame]!), spent }];
  });
}

/** `step;aten::linear;gemm 1200`, one line per stack. */
export function folded(tree: Tree): string {
  const names = tree.names.map((name) => name.replaceAll(";", ",").replace(/\s+/g, " "));
  return stacksOf(tree)
    .map(({ path, spent }) => `${path.map((label) => names[label]).join(";")} ${spent}\n`)
    .join("");
}

export function speedscope(tree: Tree, measure: Measure, name: string): string {
  const stacks = stacksOf(tree);
  const weights = stacks.map(({ spent }) => spent);
  return JSON.stringify({
    $schema: "https://www.speedscope.app/file-format-schema.json",
    shared: { frames: tree.names.map((each) => ({ name: each })) },
    profiles: [
      {
        type: "sampled",
        name,
        unit: measure === "bytes" ? "bytes" : "nanoseconds",
        startValue: 0,
        endValue: sum(weights),
        samples: stacks.map(({ path }) => path),
        weights,
      },
    ],
    name,
    exporter: "tb_steptime",
    activeProfileIndex: 0,
  });
}
