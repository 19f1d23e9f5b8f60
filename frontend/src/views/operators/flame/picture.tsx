import { useContext, useMemo, useRef, useState } from "preact/hooks";
import { Swatch } from "../../../colour";
import { AboutContext, fileStem } from "../../../components/about";
import { Chips } from "../../../components/chips";
import type { TableData } from "../../../components/data_table";
import { Picture } from "../../../components/picture";
import { saveText } from "../../../dom/save";
import { bytes, count, ns, share } from "../../../format";
import type { OperatorPart } from "../part";
import { knowsWhere } from "../tables";
import { type FlameAnswer, useFlamePage, useSeen } from "./data";
import { folded, speedscope } from "./files";
import { Graph } from "./graph";
import { COLOUR_OF } from "./scene";
import {
  type Hits,
  hitsOf,
  type Kind,
  largestOf,
  layoutOf,
  type Measure,
  measuresOf,
  pathTo,
  type Tree,
  treeOf,
  turned,
} from "./tree";

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

/** Call paths as boxes: as wide as what they and all that they call cost. */
export function FlameGraph({ part, span }: { part: OperatorPart; span: string }) {
  const { result, tab, name } = part;
  const box = useRef<HTMLDivElement>(null);
  const seen = useSeen(box);
  const groupings = GROUPINGS.filter(
    ({ id }) => id === "op" || (id === "stack" ? result.recorded.stacks : result.recorded.modules),
  );
  const by = groupings.find(({ id }) => id === tab.state.paths)?.id ?? groupings[0]!.id;
  const where = (knowsWhere(result) && tab.state.work) || "ran";
  const answer = useFlamePage(tab.events, span, { by, where }, seen);
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
              choose={(id) => tab.update({ paths: id === groupings[0]!.id ? null : (id as typeof by) })}
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

function Drawn({ answer, part: { tab }, up, name, tools }: DrawnProps) {
  const { page, problem } = answer;
  const stem = fileStem(useContext(AboutContext), name);
  const measures = page ? measuresOf(page) : [];
  const measure = measures.find((each) => each === tab.state.cost) ?? measures[0] ?? "device";
  const tree = useMemo(() => {
    if (!page) return null;
    const down = treeOf(page, measure);
    return up ? turned(down) : down;
  }, [page, measure, up]);
  const text = (value: number) => (measure === "bytes" ? bytes(value) : ns(value));
  const typed = tab.state.seek ?? "";
  const hits = useMemo(() => (tree ? hitsOf(tree, typed) : null), [tree, typed]);
  const whole = tree?.value[0] ?? 0;
  return (
    <Picture
      title={TITLES[measure]}
      sub={tree ? text(whole) : problem ? "" : "reading the trace"}
      name={name}
      table={() => tableOf(tree, measure)}
      link={() => tab.address()}
      entries={tree ? savings(tree, measure, stem) : []}
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
            choose={(id) => tab.update({ turned: id === "up" ? "up" : null })}
          />
          <Seek typed={typed} hits={hits} whole={whole} text={text} change={(seek) => tab.update({ seek })} />
        </div>
      }
    >
      {tree && whole > 0 ? (
        <Zoomable key={`${measure} ${up}`} tree={tree} hits={hits} text={text} label={TITLES[measure]} />
      ) : (
        <p class="quiet flame-none">
          {problem ? `${problem.problem}. ${problem.hint}` : page ? "No op begins in the steps." : "\u00a0"}
        </p>
      )}
    </Picture>
  );
}

interface ZoomableProps {
  tree: Tree;
  hits: Hits | null;
  text(value: number): string;
  label: string;
}

function Zoomable({ tree, hits, text, label }: ZoomableProps) {
  const layout = useMemo(() => layoutOf(tree), [tree]);
  const [zoomed, zoom] = useState(0);
  const kinds = useMemo(() => shownKinds(tree), [tree]);
  return (
    <>
      <Graph label={label} tree={tree} layout={layout} zoomed={zoomed} zoom={zoom} hits={hits} text={text} />
      <div class="flame-foot">
        {zoomed > 0 ? (
          <Crumbs tree={tree} zoomed={zoomed} zoom={zoom} />
        ) : (
          <span class="quiet small">Press a frame to zoom. Frames below 1/2000 of the whole are merged.</span>
        )}
        <span class="flame-legend quiet small">
          {kinds.map(({ id, name }) => (
            <span key={id} class="k">
              <Swatch colour={COLOUR_OF[id]!} /> {name}
            </span>
          ))}
        </span>
      </div>
    </>
  );
}

const LEGEND: readonly { id: Kind; name: string }[] = [
  { id: "python", name: "Python" },
  { id: "module", name: "module" },
  { id: "op", name: "op" },
  { id: "runtime", name: "runtime call" },
  { id: "kernel", name: "kernel" },
  { id: "collective", name: "communication" },
  { id: "copy", name: "copy" },
];

function shownKinds({ kinds, label, value }: Tree) {
  const used = new Set(label.filter((_, at) => value[at]! > 0).map((each) => kinds[each]));
  return LEGEND.filter(({ id }) => used.has(id));
}

/** The way to what is zoomed into; its middle left out where it is long. */
function Crumbs({ tree, zoomed, zoom }: { tree: Tree; zoomed: number; zoom(at: number): void }) {
  const path = pathTo(tree, zoomed);
  const shown = path.length > MOST_CRUMBS ? [path[0]!, ...path.slice(1 - MOST_CRUMBS)] : path;
  return (
    <nav class="flame-crumbs small" aria-label="Zoomed into">
      {shown.map((at, place) => (
        <span key={at}>
          {place > 0 && (place === 1 && shown.length < path.length ? " › … › " : " › ")}
          {at === zoomed ? (
            <b>{tree.names[tree.label[at]!]}</b>
          ) : (
            <button class="link" onClick={() => zoom(at)}>
              {tree.names[tree.label[at]!]}
            </button>
          )}
        </span>
      ))}
    </nav>
  );
}

const MOST_CRUMBS = 5;

interface SeekProps {
  typed: string;
  hits: Hits | null;
  whole: number;
  text(value: number): string;
  change(typed: string | null): void;
}

/** "12.3 ms, 8 % in 14 frames". */
function Seek({ typed, hits, whole, text, change }: SeekProps) {
  return (
    <>
      <input
        class="field filter"
        type="search"
        aria-label="Find frames"
        placeholder="Find frames"
        value={typed}
        onInput={(event) => change(event.currentTarget.value || null)}
      />
      <span class="sub filtered" role="status">
        {hits &&
          (hits.frames === 0
            ? "none"
            : `${text(hits.sum)}, ${share(whole > 0 ? hits.sum / whole : 0)} in ${count(hits.frames)}`)}
      </span>
    </>
  );
}

const savings = (tree: Tree, measure: Measure, name: string) => [
  {
    label: "Save as folded stacks",
    choose: () => saveText(`${name}.folded`, folded(tree), "text/plain"),
  },
  {
    label: "Save for speedscope",
    choose: () => saveText(`${name}.speedscope.json`, speedscope(tree, measure, name), "application/json"),
  },
];

/** Rows of the table. */
const MOST_ROWS = 200;

function tableOf(tree: Tree | null, measure: Measure): TableData {
  const unit = measure === "bytes" ? ("bytes" as const) : ("ns" as const);
  return {
    columns: [{ label: "Frame" }, { label: "Kind" }, { label: "Self", unit }, { label: "Total", unit }],
    rows: (tree ? largestOf(tree) : [])
      .slice(0, MOST_ROWS)
      .map(({ label, own, value }) => [tree!.names[label]!, tree!.kinds[label]!, own, value]),
  };
}
