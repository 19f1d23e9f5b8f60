/** The picture itself: a canvas that stays while its tracks scroll under it, and what pointer, wheel and keys do to it. */

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Sheet } from "../../charts/canvas_sheet";
import { spoken, Tip } from "../../charts/tip";
import { type Box, rowKey } from "./boxes";
import { boxBeside } from "./beside";
import { deedOf, turnOf } from "./keys";
import { ROW_PX, rowTop } from "./layout";
import { groundOf, overOf, paintOver, paintScene } from "./paint";
import { areaAt, boxUnder, tipOf, tipSpot } from "./pointed";
import { AXIS_PX, GUTTER_PX, type Scene } from "./scene";
import { sameBox } from "./search";
import { type Size, useSize } from "./size";
import { around, lengthOf, panned, showing, type Stretch, touches, zoomed } from "./stretch";

/** All but what the stage knows itself. */
export type Shown = Omit<Scene, "scroll" | "pointer_ns" | "band" | "width" | "height">;

export interface Deeds {
  setSeen(next: (before: Stretch) => Stretch): void;
  point(box: Box | null): void;
  choose(box: Box | null): void;
  fold(track: number): void;
  reset(): void;
  step(by: 1 | -1): void;
  find(): void;
}

interface StageProps {
  label: string;
  shown: Shown;
  whole: Stretch;
  size: Size;
  resize(size: Size): void;
  scroller: RefObject<HTMLDivElement | null>;
  deeds: Deeds;
}

/** A press that moves less is a click. */
const CLICK_PX = 4;

type Drag = { kind: "pan"; x: number; y: number; seen: Stretch; scroll: number; moved: boolean } | { kind: "band"; from: number };

export function Stage({ label, shown, whole, size, resize, scroller, deeds }: StageProps) {
  const [scroll, setScroll] = useState(0);
  const [pointer, setPointer] = useState<{ x: number; y: number } | null>(null);
  const [band, setBand] = useState<Stretch | null>(null);
  const drag = useRef<Drag | null>(null);
  const { ruler, layout } = shown;
  const scene: Scene = { ...shown, ...size, scroll, band, pointer_ns: pointer && pointer.x >= GUTTER_PX ? ruler.ns(pointer.x) : null };
  useSize(scroller, resize);
  useSelectionInSight(scroller, scene);

  const spot = (event: MouseEvent) => {
    const frame = scroller.current!.getBoundingClientRect();
    return { x: event.clientX - frame.left, y: event.clientY - frame.top };
  };
  const press = (event: PointerEvent) => {
    const { x, y } = spot(event);
    if (event.button !== 0 || x > size.width) return; // the scroll bar is the browser's
    const area = areaAt(scene, x, y);
    if (area.kind === "name") return area.place.kind === "track" && area.place.track.rows > 1 ? deeds.fold(area.place.track.id) : undefined;
    const axis = area.kind === "axis";
    drag.current = axis ? { kind: "band", from: ruler.ns(Math.max(GUTTER_PX, x)) } : { kind: "pan", x, y, seen: shown.seen, scroll, moved: false };
    scroller.current!.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent) => {
    const { x, y } = spot(event);
    const held = drag.current;
    setPointer({ x, y });
    if (!held) {
      const box = boxUnder(scene, x, y);
      if (!sameBox(box, shown.pointed)) deeds.point(box);
    } else if (held.kind === "band") {
      const to = ruler.ns(Math.max(GUTTER_PX, x));
      setBand({ from: Math.min(held.from, to), to: Math.max(held.from, to) });
    } else if (held.moved || Math.hypot(x - held.x, y - held.y) >= CLICK_PX) {
      held.moved = true;
      deeds.setSeen(() => panned(held.seen, (held.x - x) * (lengthOf(held.seen) / (size.width - GUTTER_PX)), whole));
      scroller.current!.scrollTop = held.scroll + held.y - y;
    }
  };
  const release = (event: PointerEvent) => {
    const held = drag.current;
    drag.current = null;
    setBand(null);
    if (held?.kind === "band" && band && lengthOf(band) / ruler.ns_per_px >= CLICK_PX) deeds.setSeen((seen) => zoomed(band, (band.from + band.to) / 2, 1, whole) ?? seen);
    else if (held?.kind === "pan" && !held.moved) deeds.choose(boxUnder(scene, spot(event).x, spot(event).y));
  };
  const turn = (event: WheelEvent) => {
    const turned = turnOf(event);
    if (!turned) return;
    event.preventDefault();
    if (turned.kind === "zoom") deeds.setSeen((seen) => zoomed(seen, ruler.ns(Math.max(GUTTER_PX, spot(event).x)), turned.factor, whole));
    else deeds.setSeen((seen) => panned(seen, turned.px * ruler.ns_per_px, whole));
  };
  const type = (event: KeyboardEvent) => {
    if (typed(event, scene, whole, deeds)) event.preventDefault();
  };
  const told = shown.pointed !== null && shown.pointed.event === shown.chosen?.event; // the panel tells it all
  const tip = shown.pointed && !told && !band && touches(shown.pointed, shown.seen) && { content: tipOf(shown.pointed, layout, shown.step.start_ns), ...(pointer ? { x: pointer.x, y: pointer.y + 14 } : tipSpot(scene, shown.pointed)) };
  return (
    <>
      <div
        class="stage" ref={scroller} role="img" aria-label={label} tabIndex={0} data-boxes={shown.layers.reduce((sum, { boxes }) => sum + boxes.from.length, 0)}
        onScroll={() => setScroll(scroller.current!.scrollTop)} onWheel={turn} onKeyDown={type}
        onPointerDown={press} onPointerMove={move} onPointerUp={release} onPointerCancel={() => ((drag.current = null), setBand(null))}
        onPointerLeave={() => (setPointer(null), deeds.point(null))} onDblClick={(event) => spot(event).x >= GUTTER_PX && deeds.reset()}
      >
        <div class="sheet" style={{ height: `${size.height}px` }}>
          <Sheet {...size} paint={(pen) => paintScene(pen, scene)} of={groundOf(scene)} />
          <Sheet {...size} paint={(pen) => paintOver(pen, scene)} of={[...groundOf(scene), ...overOf(scene)]} />
        </div>
        <div style={{ height: `${Math.max(0, layout.height + AXIS_PX - size.height)}px` }} />
      </div>
      {tip && !drag.current && <Tip content={tip.content} x={tip.x} y={tip.y} width={size.width} above={tip.y - 24} />}
      <span class="heard" role="status">{tip && !pointer && spoken(tip.content)}</span>
    </>
  );
}

/** Whether the key was one of ours. */
function typed(event: KeyboardEvent, scene: Scene, whole: Stretch, deeds: Deeds): boolean {
  const deed = deedOf(event);
  const { pointed, chosen } = scene;
  switch (deed?.kind) {
    case undefined:
      return false;
    case "zoom":
      deeds.setSeen((seen) => zoomed(seen, zoomPoint(scene), deed.factor, whole));
      return true;
    case "pan":
      deeds.setSeen((seen) => panned(seen, deed.share * lengthOf(seen), whole));
      return true;
    case "move": {
      const next = boxBeside(scene.layers, scene.layout, pointed, deed.way, scene.seen) ?? pointed;
      if (next) deeds.point(next);
      if (next) deeds.setSeen((seen) => (next.to < seen.from || next.from > seen.to ? showing(seen, { from: next.from, to: Math.min(next.to, next.from + lengthOf(seen) / 2) }, whole) : seen));
      return true;
    }
    case "fit": {
      const wanted = pointed ?? (chosen && { from: chosen.start_ns, to: chosen.end_ns });
      if (wanted) deeds.setSeen(() => around(wanted, whole));
      return true;
    }
    case "open":
      if (pointed) deeds.choose(pointed);
      return true;
    case "drop":
      deeds.point(null);
      deeds.choose(null);
      return true;
    case "reset":
      deeds.reset();
      return true;
    case "step":
      deeds.step(deed.by);
      return true;
    case "find":
      deeds.find();
      return true;
    default:
      return deed satisfies undefined as never;
  }
}

/** Keys zoom where the pointer is, else at the focused event, else in the middle. */
function zoomPoint({ pointer_ns, pointed, seen }: Scene): number {
  if (pointer_ns !== null) return pointer_ns;
  const around = pointed && touches(pointed, seen) ? pointed : seen;
  return (Math.max(around.from, seen.from) + Math.min(around.to, seen.to)) / 2;
}

/** Scrolls to the row of the event that was chosen, or that the keys went to. */
function useSelectionInSight(scroller: RefObject<HTMLDivElement | null>, { layout, chosen, pointed, pointer_ns }: Scene): void {
  const show = (row: { track: number; row: number } | null) => {
    const top = row && rowTop(layout, row.track, row.row);
    const box = scroller.current;
    if (top === null || !box) return;
    const room = box.clientHeight - AXIS_PX - ROW_PX;
    if (top < box.scrollTop) box.scrollTop = top - ROW_PX;
    else if (top > box.scrollTop + room) box.scrollTop = top - room + ROW_PX;
  };
  useLayoutEffect(() => show(chosen), [chosen?.event, layout]);
  useEffect(() => {
    if (pointer_ns === null) show(pointed);
  }, [pointed && rowKey(pointed.track, pointed.row)]);
}
