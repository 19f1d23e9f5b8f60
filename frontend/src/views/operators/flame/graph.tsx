/**
 * The picture of the flame graph: a box that scrolls over all rows, a canvas for the visible ones, and what pointer and
 * keys do to it. The outline of a frame is an element above the canvas, so pointing repaints nothing.
 */

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Sheet } from "../../../charts/canvas/canvas";
import { usePalette } from "../../../charts/canvas/palette";
import { sentenceOf, Tip, type TipContent } from "../../../charts/pointer/tip";
import { lineName } from "../../../code_line";
import { useLatest } from "../../../dom/hooks";
import { canvasMarks } from "../../../dom/marks";
import { useSize } from "../../../dom/size";
import { count, counted, share } from "../../../format";
import {
  BOX_PX,
  frameAt,
  type Layout,
  neighbour,
  ROW_PX,
  rowCount,
  spotOf,
  type View,
  type Window,
  windowOf,
} from "./layout";
import { marks, paint, type Scene } from "./paint";
import { type Hits, type Kind, ownOf, pathTo, type Tree } from "./tree";

interface GraphProps {
  label: string;
  tree: Tree;
  layout: Layout;
  zoomed: number;
  zoom(at: number): void;
  hits: Hits | null;
  /** Formats a value of the measure. */
  text(value: number): string;
}

/** The number of rows from which the picture scrolls. */
const MOST_ROWS = 34;

/** Keys that zoom out. */
const OUT: readonly string[] = ["Escape", "Backspace"];

export function Graph({ label, ...props }: GraphProps) {
  const { tree, layout, zoomed, zoom } = props;
  const height = ROW_PX * Math.max(1, rowCount(layout));
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [walked, setWalked] = useState({ of: tree, at: -1 }); // frames of another tree have other numbers
  const [hovered, setHovered] = useState<{ of: Tree; at: number; x: number; y: number } | null>(null);
  const { target, shown } = useMoving(layout, zoomed);
  useSize(box, (size) => setWidth(size.width));
  const view: View = { tree, layout, zoomed, shown, width };
  const keyed = walked.of === tree ? walked.at : -1;
  const pointer = hovered?.of === tree ? hovered : null;
  const at = pointer ? pointer.at : keyed;
  const move = (event: PointerEvent) => {
    const inside = event.currentTarget as HTMLElement;
    const { left, top } = inside.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    setHovered({ of: tree, at: frameAt(view, x, y + inside.scrollTop), x, y });
  };
  const setKeyed = (at: number) => setWalked({ of: tree, at });
  const act = (key: string): boolean => {
    if (key.startsWith("Arrow")) setKeyed(neighbour({ ...view, shown: target }, at, key));
    else if ((key === "Enter" || key === " ") && at >= 0) zoom(at);
    else if (OUT.includes(key) && zoomed > 0) zoom(tree.parent[zoomed]!);
    else if (key === "Home") zoom(0);
    else return false;
    if (OUT.includes(key) || key === "Home") setKeyed(key === "Home" ? 0 : tree.parent[zoomed]!);
    return true;
  };
  const type = (event: KeyboardEvent) => {
    if (!act(event.key)) return;
    event.preventDefault();
    setHovered(null);
  };
  useInView(box, keyed >= 0 && pointer === null ? layout.depth[keyed]! : -1);
  return (
    <div class="plot">
      <div
        class="flame"
        ref={box}
        role="application"
        aria-roledescription="flame graph"
        aria-label={label}
        tabIndex={0}
        style={{ height: `${Math.min(height, ROW_PX * MOST_ROWS)}px` }}
        onPointerMove={move}
        onPointerLeave={() => setHovered(null)}
        onClick={() => pointer && pointer.at >= 0 && zoom(pointer.at)}
        onBlur={() => setKeyed(-1)}
        onKeyDown={type}
      >
        <div class="flame-rows" style={{ height: `${height}px` }}>
          {width > 0 && <Rows {...props} view={view} box={box} height={Math.min(height, ROW_PX * MOST_ROWS)} />}
          {at >= 0 && <Outline view={view} at={at} />}
        </div>
      </div>
      <Told {...props} view={view} at={at} pointer={pointer} scrolled={box.current?.scrollTop ?? 0} />
    </div>
  );
}

interface RowsProps {
  view: View;
  hits: Hits | null;
  box: { current: HTMLDivElement | null };
  height: number;
}

/** The visible rows, on a canvas that stays in place while they scroll. */
function Rows({ view, hits, box, height }: RowsProps) {
  const palette = usePalette();
  const [top, setTop] = useState(0);
  const scene: Scene = { ...view, hits, palette, top, height };
  useLayoutEffect(() => {
    const within = box.current!;
    const scrolled = () => setTop(within.scrollTop);
    scrolled();
    within.addEventListener("scroll", scrolled, { passive: true });
    return () => within.removeEventListener("scroll", scrolled);
  }, [box]);
  useLayoutEffect(() => {
    const canvas = box.current?.querySelector("canvas");
    const whole = ROW_PX * rowCount(view.layout); // a saved file has all rows in place of the canvas
    if (canvas) canvasMarks.set(canvas, { height: whole, marks: () => marks({ ...scene, top: 0, height: whole }) });
  });
  const { layout, shown, zoomed, width } = view;
  return (
    <div class="flame-sheet">
      <Sheet
        width={width}
        height={height}
        paint={(pen) => paint(pen, scene)}
        of={[layout, shown, zoomed, hits, palette, top]}
      />
    </div>
  );
}

function Outline({ view, at }: { view: View; at: number }) {
  const spot = spotOf(view, at);
  if (spot === null) return null;
  const { left, top, wide } = spot;
  return <i class="flame-at" style={{ left, top, width: Math.max(4, wide - 1), height: BOX_PX }} />;
}

interface ToldProps extends Pick<GraphProps, "tree" | "zoomed" | "text"> {
  view: View;
  at: number;
  pointer: { x: number; y: number } | null;
  scrolled: number;
}

/** The tip at the pointer, or at the frame that the keys went to, which is also announced. */
function Told({ tree, zoomed, text, view, at, pointer, scrolled }: ToldProps) {
  const own = useMemo(() => ownOf(tree), [tree]);
  const content = at >= 0 ? tipOf({ tree, own, zoomed, text }, at) : null;
  const spot = pointer ?? { x: view.width / 3, y: at >= 0 ? ROW_PX * (view.layout.depth[at]! + 1) - scrolled : 0 };
  return (
    <>
      <Tip content={content} x={spot.x} y={spot.y + 16} width={view.width} above={spot.y - 8} />
      <span class="visually-hidden" role="status">
        {pointer === null && content ? sentenceOf(content) : ""}
      </span>
    </>
  );
}

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

/** The duration of the transition from one zoom to the next, which lets the eye follow. */
const MOVE_MS = 160;

const isStill = (): boolean => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

interface Moving {
  layout: Layout;
  shown: Window;
}

/**
 * target: the window of the current zoom; shown: what the picture shows now, which equals it when the transition has
 * ended.
 */
function useMoving(layout: Layout, zoomed: number): { target: Window; shown: Window } {
  const target = useMemo(() => windowOf(layout, zoomed), [layout, zoomed]);
  const [moving, setMoving] = useState<Moving | null>(null);
  const latest = useLatest(moving);
  const rested = useRef<Moving>({ layout, shown: target });
  useLayoutEffect(() => {
    const start = latest.current ?? rested.current;
    rested.current = { layout, shown: target };
    if (start.layout !== layout || start.shown === target || isStill()) return setMoving(null);
    setMoving(start);
    return onFrames((part) =>
      setMoving(part < 1 ? { layout, shown: between(start.shown, target, part * (2 - part)) } : null),
    );
  }, [layout, target, latest]);
  return { target, shown: moving?.layout === layout ? moving.shown : target };
}

/** Calls `show` on each animation frame with the fraction of the time that has passed, finally with 1. */
function onFrames(show: (part: number) => void): () => void {
  const began = performance.now();
  let frame = 0;
  const step = (now: number) => {
    const part = Math.max(0, Math.min(1, (now - began) / MOVE_MS));
    if (part < 1) frame = requestAnimationFrame(step);
    show(part);
  };
  frame = requestAnimationFrame(step);
  return () => cancelAnimationFrame(frame);
}

/** Interpolates: the size changes by equal factors in equal times, around one fixed point. */
export function between(start: Window, target: Window, part: number): Window {
  const [from, to] = [start.high - start.low, target.high - target.low];
  if (Math.abs(from - to) < 1e-9 * Math.max(from, to)) {
    const low = start.low + part * (target.low - start.low);
    return { low, high: low + to };
  }
  const wide = from * (to / from) ** part;
  const low = start.low + ((target.low - start.low) * (wide - from)) / (to - from);
  return { low, high: low + wide };
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

interface TipData {
  tree: Tree;
  own: Float64Array;
  zoomed: number;
  /** Formats a value of the measure. */
  text(value: number): string;
}

/** One row per fact; shares refer to the whole picture, not to the frame that is zoomed into. */
function tipOf({ tree, own, zoomed, text }: TipData, at: number): TipContent {
  const value = tree.value[at]!;
  const label = tree.label[at]!;
  const merged = tree.merged[at]!;
  const kind = KIND[tree.kinds[label]!];
  return {
    title: merged > 0 ? counted(merged, "frame", "frames, too small to draw") : lineName(tree.names[label]!),
    rows: [
      ...(kind ? [{ name: "kind", value: kind }] : []),
      { name: "total", value: text(value) },
      { name: "self", value: text(own[at]!) },
      { name: "of the whole", value: share(value / tree.value[0]!) },
      ...(zoomed > 0 && pathTo(tree, at).includes(zoomed)
        ? [{ name: "of the zoomed frame", value: share(value / tree.value[zoomed]!) }]
        : []),
      ...(tree.calls[at]! > 0 ? [{ name: "calls in all steps", value: count(tree.calls[at]!) }] : []),
    ],
    act: at === zoomed ? "" : "Press to zoom.",
  };
}
