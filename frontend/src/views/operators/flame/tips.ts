/** What is said of a frame. */

import type { TipContent } from "../../../charts/pointer/tip";
import { count, counted, share } from "../../../format";
import { type Kind, pathTo, type Tree } from "./tree";

const KIND: Readonly<Record<Kind, string>> = {
  all: "",
  python: "line of Python",
  module: "module",
  op: "op",
  runtime: "runtime call",
  kernel: "kernel",
  collective: "collective kernel",
  copy: "copy or memory set",
  outside: "",
  smaller: "",
};

export interface Told {
  tree: Tree;
  own: Float64Array;
  zoomed: number;
  /** A value of the measure in words. */
  text(value: number): string;
}

/** One row a fact; the whole is that of the picture, not of what is zoomed into. */
export function tipOf({ tree, own, zoomed, text }: Told, at: number): TipContent {
  const value = tree.value[at]!;
  const label = tree.label[at]!;
  const merged = tree.merged[at]!;
  const kind = KIND[tree.kinds[label]!];
  return {
    title: merged > 0 ? counted(merged, "frame", "frames, too small to draw") : tree.names[label]!,
    rows: [
      ...(kind ? [{ name: "kind", value: kind }] : []),
      { name: "total", value: text(value) },
      { name: "self", value: text(own[at]!) },
      { name: "of the whole", value: share(value / tree.value[0]!) },
      ...(zoomed > 0 && pathTo(tree, at).includes(zoomed)
        ? [{ name: "of the zoomed frame", value: share(value / tree.value[zoomed]!) }]
        : []),
      ...(tree.calls[at]! > 0 ? [{ name: "calls", value: count(tree.calls[at]!) }] : []),
    ],
    act: at === zoomed ? "" : "Press to zoom.",
  };
}
