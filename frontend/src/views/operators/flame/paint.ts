/** Draws the flame graph: on a canvas, and the same as marks of an SVG document for a saved file. */

import type { Pen } from "../../../charts/canvas/canvas";
import { type Fill, mixed, shadeOf } from "../../../charts/canvas/palette";
import { escaped } from "../../../dom/drawing";
import { textWidth } from "../../../dom/text_width";
import { counted } from "../../../format";
import { fitted } from "../../timeline/paint/box_names";
import { isTextured, paintSign } from "../../timeline/paint/signs";
import { BOX_PX, type Box, COLOUR_OF, isFaded, type Scene } from "./scene";

/** Frames wider than this may hold a name. */
const NAMED_PX = 26;

/** Neighbours wider than this are parted by the background. */
const PARTED_PX = 3;

export function paint(pen: Pen, scene: Scene): void {
  const { width, height, palette, at } = scene;
  pen.fillStyle = palette.surface;
  pen.fillRect(0, 0, width, height);
  pen.font = palette.fonts.axis;
  pen.textBaseline = "middle";
  for (const box of scene.boxes) paintBox(pen, scene, box);
  const chosen = scene.boxes.find((box) => box.at === at);
  if (!chosen) return;
  pen.strokeStyle = palette.ink;
  pen.lineWidth = 2;
  pen.strokeRect(chosen.left + 1, chosen.top + 1, Math.max(2, chosen.wide - 3), BOX_PX - 2);
}

function paintBox(pen: Pen, scene: Scene, box: Box): void {
  const { left, top } = box;
  const wide = shownWidth(box);
  const { fill, ink } = looksOf(scene, box);
  pen.fillStyle = fill;
  pen.fillRect(left, top, wide, BOX_PX);
  const colour = COLOUR_OF[scene.tree.kinds[scene.tree.label[box.at]!]!];
  if (colour && !isFaded(scene, box.at) && !box.above)
    paintSign(pen, scene.palette, colour, { left, y: top, wide, tall: BOX_PX });
  const text = nameIn(scene, box);
  if (text === null) return;
  if (colour && isTextured(colour)) {
    pen.fillStyle = fill; // words do not stand on stripes
    pen.fillRect(left, top, Math.min(wide, textWidth(text, "axis") + 8), BOX_PX);
  }
  pen.fillStyle = ink;
  pen.fillText(text, left + 4, top + BOX_PX / 2 + 0.5);
}

const shownWidth = ({ wide }: Box): number => (wide > PARTED_PX ? wide - 1 : wide);

/** What is no frame of the program is paper; so is the way to what is zoomed into, which would seem its sum. */
function looksOf(scene: Scene, { at, above }: Box): { fill: string; ink: string } {
  const { tree, palette } = scene;
  const label = tree.label[at]!;
  const colour = COLOUR_OF[tree.kinds[label]!];
  const faded = isFaded(scene, at);
  if (colour === null) return { fill: palette.sunken, ink: faded ? palette.third : palette.second };
  const shade = colour === "other" ? 0 : shadeOf(tree.names[label]!); // lines of code stand in rows, not side by side
  const fill: Fill = palette.fills.get(colour)![shade]!;
  if (faded) return { fill: fill.dim, ink: palette.third };
  return above
    ? { fill: mixed(fill.plain, palette.surface, 0.7), ink: palette.ink }
    : { fill: fill.plain, ink: fill.ink };
}

/** As much of the name as there is room for. */
function nameIn({ tree }: Scene, box: Box): string | null {
  const wide = shownWidth(box);
  if (wide < NAMED_PX) return null;
  const merged = tree.merged[box.at]!;
  const name = merged > 0 ? `${counted(merged, "smaller frame")}` : tree.names[tree.label[box.at]!]!;
  return fitted(name, (text) => textWidth(text, "axis"), wide);
}

/** The picture as marks: sharp at any size, its names searchable. */
export function marks(scene: Scene): string {
  return scene.boxes
    .map((box) => {
      const { fill, ink } = looksOf(scene, box);
      const [x, y] = [round(box.left), box.top];
      const label = scene.tree.names[scene.tree.label[box.at]!]!;
      const text = nameIn(scene, box);
      const words = text && `<text x="${x + 4}" y="${y + 13}" font-size="11" fill="${ink}">${escaped(text)}</text>`;
      const rect = `<rect x="${x}" y="${y}" width="${round(shownWidth(box))}" height="${BOX_PX}" fill="${fill}"/>`;
      return `<g><title>${escaped(label)}</title>${rect}${words ?? ""}</g>`;
    })
    .join("");
}

const round = (px: number): number => Math.round(10 * px) / 10;
