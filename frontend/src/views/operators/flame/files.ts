/** Call paths as other programs read them: folded stacks (flamegraph.pl) and speedscope's JSON. */

import { type Measure, ownOf, pathTo, type Tree } from "./tree";

interface Stack {
  path: readonly number[];
  spent: number;
}

/** Labels from the outermost frame on, and what the last one spends itself. */
function stacksOf(tree: Tree): Stack[] {
  return [...ownOf(tree)].flatMap((spent, at) => {
    if (at === 0 || spent <= 0) return [];
    const [, ...frames] = pathTo(tree, at);
    return [{ path: frames.map((frame) => tree.label[frame]!), spent }];
  });
}

/** `step;aten::linear;gemm 1200`, a line each. */
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
        endValue: weights.reduce((sum, each) => sum + each, 0),
        samples: stacks.map(({ path }) => path),
        weights,
      },
    ],
    name,
    exporter: "tb_steptime",
    activeProfileIndex: 0,
  });
}
