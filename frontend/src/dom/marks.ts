/** Marks of SVG as text, and what a canvas of the page shows in them. */

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

export const escaped = (text: string): string => text.replace(/[&<>"]/g, (sign) => ENTITIES[sign]!);

/** What a canvas shows, as SVG marks from 0, 0; all of it, where the canvas shows only a part. */
interface CanvasMarks {
  height: number;
  marks(): string;
}

export const canvasMarks = new WeakMap<HTMLCanvasElement, CanvasMarks>();
