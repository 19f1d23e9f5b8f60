/** A canvas as sharp as the screen, painted at most once per frame and only when something changed. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useLatest } from "../../dom/hooks";

export type Pen = CanvasRenderingContext2D;

interface SheetProps {
  width: number;
  height: number;
  paint(pen: Pen): void;
  /** The inputs of the picture: it is painted again in the next frame when one of them changes. */
  of: readonly unknown[];
}

export function Sheet({ width, height, paint, of }: SheetProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useLatest(paint);
  const frame = useRef(0);
  const density = useDensity();
  const size = `${width} ${height} ${density}`;
  const painted = useRef({ size: "", of });
  useLayoutEffect(() => {
    const before = painted.current;
    painted.current = { size, of };
    if (before.size !== size)
      draw(canvas.current!, latest.current); // a canvas of another size is empty
    else if (!frame.current && of.some((part, at) => part !== before.of[at])) {
      frame.current = requestAnimationFrame(() => {
        frame.current = 0;
        if (canvas.current) draw(canvas.current, latest.current);
      });
    }
  });
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  return (
    <canvas
      ref={canvas}
      width={Math.round(width * density)}
      height={Math.round(height * density)}
      aria-hidden="true"
      style={{ display: "block", width: `${width}px`, height: `${height}px` }}
    />
  );
}

function draw(canvas: HTMLCanvasElement, paint: (pen: Pen) => void): void {
  const pen = canvas.getContext("2d")!;
  const density = canvas.width / Math.max(1, canvas.clientWidth || canvas.width);
  pen.setTransform(density, 0, 0, density, 0, 0);
  paint(pen);
}

/** Device pixels per CSS pixel; they change when the window moves to another screen, and with the browser's zoom. */
function useDensity(): number {
  const [density, set] = useState(() => window.devicePixelRatio || 1);
  useEffect(() => {
    const query = window.matchMedia(`(resolution: ${density}dppx)`);
    const changed = () => set(window.devicePixelRatio || 1);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, [density]);
  return density;
}
