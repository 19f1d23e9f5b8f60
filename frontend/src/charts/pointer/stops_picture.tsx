/** The frame of a picture whose stops are chosen by pointer or keys, with the tip about the one that is pointed at. */

import type { ComponentChildren } from "preact";
import { type Pointing, pointerX, pointerY, slider, typed } from "./pointing";
import { Tip, type TipContent } from "./tip";

interface StopsPictureProps extends Pointing {
  label: string;
  class: string;
  width: number;
  height: number;
  /** The chosen one of `count` stops, and the text about it. */
  at: number | null;
  count: number;
  content: TipContent | null;
  /** The stop at a place of the picture, px from its left and top edges. */
  stopAt(x: number, y: number): number | null;
  /** The tip, and the point that it refers to; absent: there is none. */
  tip?: { content: TipContent | null; x: number; y: number };
  children: ComponentChildren;
}

export function StopsPicture(props: StopsPictureProps) {
  const { label, class: className, width, height, at, count, content, stopAt, hover, select, tip, children } = props;
  const under = (event: MouseEvent) => stopAt(pointerX(event), pointerY(event));
  return (
    <>
      <svg
        class={className}
        width={width}
        height={height}
        {...slider(label, at, count, content)}
        onPointerMove={(event) => hover(under(event), pointerY(event))}
        onPointerLeave={() => hover(null)}
        onBlur={() => hover(null)}
        onClick={select && ((event) => select(under(event)))}
        onKeyDown={(event) => typed(event, at, count, { hover, select })}
      >
        <rect width={width} height={height} fill="transparent" />
        {children}
      </svg>
      {tip && <Tip {...tip} width={width} />}
    </>
  );
}
