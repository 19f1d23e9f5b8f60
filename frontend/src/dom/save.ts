/** Saves and copies what is shown: text as it is, pictures as SVG or PNG, in the theme's colours. */

import { type Drawing, drawingOf, type Frame } from "./drawing";
import { fontSheet } from "./fonts";
import { legendOf, painted, patternsIn } from "./painted";

/** Pixels per CSS pixel, so that a saved picture is sharp in a slide. */
const DENSITY = 2;

export function saveText(name: string, text: string, type: string): void {
  saveBlob(name, new Blob([text], { type: `${type};charset=utf-8` }));
}

/** The text around a saved picture. */
export type Caption = Pick<Frame, "title" | "sub" | "foot">;

export function saveSvg(name: string, figure: HTMLElement, caption: Caption): void {
  saveText(name, drawn(figure, caption).svg, "image/svg+xml");
}

export async function savePng(name: string, figure: HTMLElement, caption: Caption): Promise<void> {
  const { width, height, svg } = drawn(figure, caption, await fontSheet());
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width * DENSITY;
  canvas.height = height * DENSITY;
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => blob && saveBlob(name, blob));
}

/** The picture as the page shows it. */
function drawn(figure: HTMLElement, caption: Caption, fonts = ""): Drawing {
  const root = getComputedStyle(document.documentElement);
  const token = (name: string) => root.getPropertyValue(name).trim();
  const legend = legendOf(figure);
  const body = painted(figure);
  const defs = patternsIn(body.marks + legend.map(({ fill }) => fill).join(" "));
  const colours = { surface: token("--surface"), ink: token("--ink"), second: token("--ink-2") };
  return drawingOf({ ...caption, legend, font: token("--font"), fonts, ...colours }, { ...body, defs });
}

/** Text as a file name that is valid on any system. */
export const fileName = (text: string): string => text.replace(/[\\/:*?"<>|\s\p{C}]+/gu, " ").trim();

export function saveBlob(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text); // no clipboard here, or the browser denies it to a frame
  }
}

function copySelected(text: string): boolean {
  const focused = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "visually-hidden";
  document.body.append(field);
  field.select();
  try {
    return document.execCommand("copy");
  } finally {
    field.remove();
    if (focused instanceof HTMLElement) focused.focus();
  }
}
