/** Saves and copies what is shown: text as it is, pictures as SVG or PNG, in the theme's colours. */

import { later } from "../lazy";
import { fontSheet } from "./fonts";
import type { Caption } from "./painted";

/** Pixels per CSS pixel, so that a saved picture is sharp in a slide. */
const DENSITY = 2;

export function saveText(name: string, text: string, type: string): void {
  saveBlob(name, new Blob([text], { type: `${type};charset=utf-8` }));
}

/** Converts what the page shows to SVG. No page needs that to be shown. */
export const CONVERTER = later(async () => (await import("./painted")).pictureOf);

export async function saveSvg(name: string, figure: HTMLElement, caption: Caption): Promise<void> {
  const pictureOf = await CONVERTER.load();
  saveText(name, pictureOf(figure, caption, "").svg, "image/svg+xml");
}

export async function savePng(name: string, figure: HTMLElement, caption: Caption): Promise<void> {
  const [pictureOf, fonts] = await Promise.all([CONVERTER.load(), fontSheet()]);
  const { width, height, svg } = pictureOf(figure, caption, fonts);
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width * DENSITY;
  canvas.height = height * DENSITY;
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => blob && saveBlob(name, blob));
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
