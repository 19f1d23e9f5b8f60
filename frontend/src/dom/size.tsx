/** Draws at the size that the page gives. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface SizedProps {
  /** Fixed before the width is known, so that nothing below moves. */
  height: number;
  children(width: number): ComponentChildren;
}

/** Draws at the width that the frame gives. A hidden tab has no width: then the last one holds. */
export function Sized({ height, children }: SizedProps) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = box.current!;
    const measure = () => element.clientWidth > 0 && setWidth(element.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <div class="plot" ref={box} style={{ minHeight: `${height}px` }}>
      {width > 0 && children(width)}
    </div>
  );
}
