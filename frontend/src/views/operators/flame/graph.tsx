/** The picture of the flame graph: a canvas in a box that scrolls, and what pointer and keys do to it. */

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Sheet } from "../../../charts/canvas/canvas";
import { usePalette } from "../../../charts/canvas/palette";
import { sentenceOf, Tip, type TipContent } from "../../../charts/pointer/tip";
import { canvasMarks } from "../../../dom/painted";
import { Sized } from "../../../dom/size";
import { counted, share } from "../../../format";
import { marks, paint } from "./paint";
import { boxesOf, frameAt, neighbour, ROW_PX, type Scene } from "./scene";
import { type Hits, type Kind, type Layout, ownOf, pathTo, type Tree } from "./tree";

interface GraphProps {
  label: string;
  tree: Tree;
  layout: Layout;
  zoomed: number;
  zoom(at: number): void;
  hits: Hits | null;
  /** A value of the measure in words. */
  text(value: number): string;
}

/** Rows before the picture scrolls. */
const MOST_ROWS = 34;

export function Graph(props: GraphProps) {
  const height = ROW_PX * Math.max(1, props.layout.rows.length);
  return (
    <Sized height={Math.min(height, ROW_PX * MOST_ROWS)}>
      {(width) => <Plot {...props} width={width} height={height} />}
    </Sized>
  );
}

function Plot({ width, height, label, ...props }: GraphProps & { width: number; height: number }) {
  const { tree, layout, zoomed, zoom, hits } = props;
  const palette = usePalette();
  const box = useRef<HTMLDivElement>(null);
  const [keyed, setKeyed] = useState(-1);
  const [pointer, setPointer] = useState<{ at: number; x: number; y: number } | null>(null);
  const at = pointer ? pointer.at : keyed < tree.parent.length ? keyed : -1;
  const boxes = useMemo(() => boxesOf({ tree, layout, zoomed, width }), [tree, layout, zoomed, width]);
  const own = useMemo(() => ownOf(tree), [tree]);
  const scene: Scene = { tree, layout, zoomed, hits, palette, width, height, boxes, at };
  useMarks(box, scene);
  const move = (event: PointerEvent) => {
    const inside = event.currentTarget as HTMLElement;
    const { left, top } = inside.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    setPointer({ at: frameAt(boxes, x, y + inside.scrollTop), x, y });
  };
  const type = (event: KeyboardEvent) => {
    if (!act(event.key)) return;
    event.preventDefault();
    setPointer(null);
  };
  const act = (key: string): boolean => {
    if (key.startsWith("Arrow")) setKeyed(neighbour(scene, key));
    else if ((key === "Enter" || key === " ") && at >= 0) zoom(at);
    else if (key === "Escape" && zoomed > 0) zoom(tree.parent[zoomed]!);
    else if (key === "Home") zoom(0);
    else return false;
    if (key === "Escape" || key === "Home") setKeyed(key === "Home" ? 0 : tree.parent[zoomed]!);
    return true;
  };
  useInView(box, keyed >= 0 && pointer === null ? layout.depth[keyed]! : -1);
  const content = at >= 0 ? tipOf(props, own, at) : null;
  const spot = pointer ?? {
    x: width / 3,
    y: ROW_PX * (at >= 0 ? layout.depth[at]! + 1 : 0) - (box.current?.scrollTop ?? 0),
  };
  return (
    <>
      <div
        class="flame"
        ref={box}
        role="application"
        aria-roledescription="flame graph"
        aria-label={label}
        tabIndex={0}
        style={{ maxHeight: `${ROW_PX * MOST_ROWS}px` }}
        onPointerMove={move}
        onPointerLeave={() => setPointer(null)}
        onClick={() => pointer && pointer.at >= 0 && zoom(pointer.at)}
        onBlur={() => setKeyed(-1)}
        onKeyDown={type}
      >
        <Sheet width={width} height={height} paint={(pen) => paint(pen, scene)} of={[boxes, hits, palette, at]} />
      </div>
      <Tip content={content} x={spot.x} y={spot.y + 16} width={width} above={spot.y - 8} />
      <span class="visually-hidden" role="status">
        {pointer === null && content ? sentenceOf(content) : ""}
      </span>
    </>
  );
}

/** What a saved file draws in the place of the canvas. */
function useMarks(box: { current: HTMLDivElement | null }, scene: Scene) {
  useLayoutEffect(() => {
    const canvas = box.current?.querySelector("canvas");
    if (canvas) canvasMarks.set(canvas, () => marks(scene));
  });
}

/** Scrolls to the row that the keys went to. */
function useInView(box: { current: HTMLDivElement | null }, row: number) {
  useLayoutEffect(() => {
    const within = box.current;
    if (row < 0 || !within) return;
    const top = row * ROW_PX;
    if (top < within.scrollTop) within.scrollTop = top;
    else if (top + ROW_PX > within.scrollTop + within.clientHeight)
      within.scrollTop = top + ROW_PX - within.clientHeight;
  }, [box, row]);
}

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

/** One row a fact; the whole is that of the picture, not of what is zoomed into. */
function tipOf(
  { tree, zoomed, text }: Pick<GraphProps, "tree" | "zoomed" | "text">,
  own: readonly number[],
  at: number,
): TipContent {
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
    ],
    act: at === zoomed ? "" : "Press to zoom.",
  };
}
