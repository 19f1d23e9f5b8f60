/** The picture itself: a canvas that stays while its tracks scroll under it, and what pointer, wheel and keys do to it. */

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { Sheet } from "../../charts/canvas/canvas";
import { spoken, Tip } from "../../charts/pointer/tip";
import { act, type Deeds } from "./act";
import { rowKey } from "./boxes";
import { gestures, usePointer } from "./gestures";
import { deedOf } from "./keys";
import { ROW_PX, rowTop } from "./layout";
import { groundOf, overOf, paintOver, paintScene } from "./paint";
import { tipOf, tipSpot } from "./pointed";
import { AXIS_PX, GUTTER_PX, type Scene } from "./scene";
import { type Size, useSize } from "./size";
import { type Stretch, touches } from "./stretch";

/** All but what the stage knows itself. */
export type Shown = Omit<Scene, "scroll" | "pointer_ns" | "band" | "width" | "height">;

interface StageProps {
  label: string;
  shown: Shown;
  whole: Stretch;
  size: Size;
  resize(size: Size): void;
  scroller: RefObject<HTMLDivElement | null>;
  deeds: Deeds;
}

export function Stage({ label, shown, whole, size, resize, scroller, deeds }: StageProps) {
  const [scroll, setScroll] = useState(0);
  const {
    pointer: { at, band, dragging },
    hands,
  } = usePointer();
  const { ruler, layout, layers, pointed } = shown;
  const scene: Scene = { ...shown, ...size, scroll, band, pointer_ns: at && at.x >= GUTTER_PX ? ruler.ns(at.x) : null };
  useSize(scroller, resize);
  useSelectionInSight(scroller, scene);
  const type = (event: KeyboardEvent) => {
    const deed = deedOf(event);
    if (!deed) return;
    event.preventDefault();
    act(deed, scene, whole, deeds);
  };
  const told = pointed !== null && pointed.event === shown.chosen?.event; // the panel tells it all
  const tip =
    pointed && !told && !band && touches(pointed, shown.seen) ? tipOf(pointed, layout, shown.step.start_ns) : null;
  const spot = tip && (at ? { x: at.x, y: at.y + POINTER_PX } : tipSpot(scene, pointed!));
  return (
    <>
      <div
        class="stage"
        ref={scroller}
        role="img"
        aria-label={label}
        tabIndex={0}
        data-boxes={layers.reduce((sum, { boxes }) => sum + boxes.from.length, 0)}
        onScroll={() => setScroll(scroller.current!.scrollTop)}
        onKeyDown={type}
        {...gestures(scroller, scene, whole, deeds, hands)}
      >
        <div class="sheet" style={{ height: `${size.height}px` }}>
          <Sheet {...size} paint={(pen) => paintScene(pen, scene)} of={groundOf(scene)} />
          <Sheet {...size} paint={(pen) => paintOver(pen, scene)} of={[...groundOf(scene), ...overOf(scene)]} />
        </div>
        <div style={{ height: `${Math.max(0, layout.height + AXIS_PX - size.height)}px` }} />
      </div>
      {tip && spot && !dragging && <Tip content={tip} {...spot} width={size.width} above={spot.y - 2 * POINTER_PX} />}
      <span class="heard" role="status">
        {tip && !at && spoken(tip)}
      </span>
    </>
  );
}

/** From the pointer's tip to its foot. */
const POINTER_PX = 14;

/** Scrolls to the row of the event that was chosen, or that the keys went to. */
function useSelectionInSight(
  scroller: RefObject<HTMLDivElement | null>,
  { layout, chosen, pointed, pointer_ns }: Scene,
): void {
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
