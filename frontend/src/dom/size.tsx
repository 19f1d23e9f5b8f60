/** Renders at the size that the page gives. */

import type { ComponentChildren, ComponentType, RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useLatest } from "./hooks";

export interface Size {
  width: number;
  height: number;
}

/** Reports the size of an element, without its scroll bar. A hidden tab has no size: then the last one is kept. */
export function useSize(element: RefObject<HTMLElement | null>, report: (size: Size) => void): void {
  const latest = useLatest(report);
  useLayoutEffect(() => {
    const box = element.current!;
    const measure = () => {
      const { clientWidth: width, clientHeight: height } = box;
      if (width > 0) latest.current({ width, height });
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => observer.disconnect();
  }, [element, latest]);
}

interface SizedProps {
  /** Fixed before the width is known, so that nothing below moves. */
  height: number;
  children(width: number): ComponentChildren;
}

/** Renders at the width that the page gives. */
export function Sized({ height, children }: SizedProps) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useSize(box, (size) => setWidth(size.width));
  return (
    <div class="plot" ref={box} style={{ minHeight: `${height}px` }}>
      {width > 0 && children(width)}
    </div>
  );
}

/** The same for a component that takes the width. `height` as in `Sized`. */
export const sized =
  <Props extends object>(
    Drawn: ComponentType<Props & { width: number }>,
    height: number | ((props: Props) => number),
  ) =>
  (props: Props) => (
    <Sized height={typeof height === "number" ? height : height(props)}>
      {(width) => <Drawn {...props} width={width} />}
    </Sized>
  );
