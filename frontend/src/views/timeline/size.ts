/** What the canvas must know of the page around it: its room and its colours. */

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { type Palette, paletteOf } from "./palette";

export interface Size {
  width: number;
  height: number;
}

/** Tells the room of an element, without its scroll bar. A hidden tab has none: then the last one holds. */
export function useSize(element: RefObject<HTMLElement | null>, tell: (size: Size) => void): void {
  useLayoutEffect(() => {
    const box = element.current!;
    const measure = () =>
      box.clientWidth > 0 && box.clientHeight > 0 && tell({ width: box.clientWidth, height: box.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
}

/** The theme's colours, read again when TensorBoard's theme changes. */
export function usePalette(): Palette {
  const [palette, setPalette] = useState(readPalette);
  useEffect(() => {
    const observer = new MutationObserver(() => setPalette(readPalette()));
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["class"] });
    return () => observer.disconnect();
  }, []);
  return palette;
}

function readPalette(): Palette {
  const looks = getComputedStyle(document.documentElement);
  return paletteOf((token) => looks.getPropertyValue(token).trim());
}
