/** Saves and copies what is shown: text as it is, pictures as pixels in the colours of the theme. */

/** Pixels per CSS pixel, so that a saved picture is sharp in a slide. */
const DENSITY = 2;

/** Space around a saved picture, CSS px. */
const MARGIN = 8;

export function saveText(name: string, text: string, type: string): void {
  saveBlob(name, new Blob([text], { type: `${type};charset=utf-8` }));
}

/** Draws every SVG chart and canvas within `figure`, where they stand, on the theme's surface. */
export async function savePng(name: string, figure: HTMLElement): Promise<void> {
  const frame = figure.getBoundingClientRect();
  const canvas = document.createElement("canvas");
  canvas.width = (frame.width + 2 * MARGIN) * DENSITY;
  canvas.height = (frame.height + 2 * MARGIN) * DENSITY;
  const pen = canvas.getContext("2d")!;
  pen.scale(DENSITY, DENSITY);
  pen.fillStyle = getComputedStyle(document.body).backgroundColor;
  pen.fillRect(0, 0, frame.width + 2 * MARGIN, frame.height + 2 * MARGIN);
  for (const part of figure.querySelectorAll<SVGSVGElement | HTMLCanvasElement>("svg.chart, canvas")) {
    const box = part.getBoundingClientRect();
    const image = part instanceof HTMLCanvasElement ? part : await imageOf(part, box);
    pen.drawImage(image, box.left - frame.left + MARGIN, box.top - frame.top + MARGIN, box.width, box.height);
  }
  canvas.toBlob((blob) => blob && saveBlob(name, blob));
}

function saveBlob(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** An SVG as an image: it leaves the document, so its looks and its stripes go with it. */
async function imageOf(svg: SVGSVGElement, box: DOMRect): Promise<HTMLImageElement> {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  carryStyles(svg, copy);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(box.width));
  copy.setAttribute("height", String(box.height));
  for (const pattern of document.querySelectorAll("pattern")) {
    const stripes = pattern.cloneNode(true) as Element;
    carryStyles(pattern, stripes);
    copy.prepend(stripes);
  }
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  await image.decode();
  return image;
}

const CARRIED = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linejoin",
  "stroke-linecap",
  "opacity",
  "font",
  "text-anchor",
  "paint-order",
];

function carryStyles(from: Element, to: Element): void {
  const styles = getComputedStyle(from);
  to.setAttribute("style", CARRIED.map((name) => `${name}:${styles.getPropertyValue(name)}`).join(";"));
  for (const [at, child] of [...from.children].entries()) carryStyles(child, to.children[at]!);
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
