/** Where a popover stands: under what it explains, over it where there is no room, never outside the frame. */

import { computePosition, flip, offset, type Platform, shift } from "@floating-ui/core";

/** px between a popover and what it explains, and between it and the edge of the frame. */
const APART = 6;
const FROM_EDGE = 8;

const rectOf = ({ x, y, width, height }: DOMRect) => ({ x, y, width, height });
const size = (box: HTMLElement) => ({ width: box.offsetWidth, height: box.offsetHeight });

/** Of a box with a fixed position in a page that is not transformed: all is measured from the frame's corner. */
const FRAME: Platform = {
  getElementRects: ({ reference, floating }) => ({
    reference: rectOf(reference.getBoundingClientRect()),
    floating: { x: 0, y: 0, ...size(floating) },
  }),
  getDimensions: size,
  getClippingRect: () => ({ x: 0, y: 0, width: window.innerWidth, height: window.innerHeight }),
};

/** Keeps the box in its place, also while the page scrolls. Calls `lost` when the element has left the page or view. */
export function place(box: HTMLElement, element: Element, lost: () => void): () => void {
  const update = async () => {
    if (!element.isConnected || outside(element)) return lost();
    const { x, y } = await computePosition(element, box, {
      platform: FRAME,
      strategy: "fixed",
      placement: "bottom-start",
      middleware: [offset(APART), flip({ padding: FROM_EDGE }), shift({ padding: FROM_EDGE })],
    });
    box.style.left = `${x}px`;
    box.style.top = `${y}px`;
  };
  void update();
  const moves = ["scroll", "resize"] as const;
  for (const name of moves) window.addEventListener(name, update, true);
  return () => {
    for (const name of moves) window.removeEventListener(name, update, true);
  };
}

/** Scrolled out of the frame. */
function outside(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom < 0 || top > window.innerHeight;
}
