/**
 * Converts an element of the page to SVG: charts with their styles written out, canvases as images, bars and text of
 * HTML where the page has them. What floats above the page is left out.
 */

import { sum } from "d3-array";
import { type Body, type Drawing, drawingOf, type Frame, type LegendEntry } from "./drawing";
import { canvasMarks, escaped } from "./marks";

/** The text around a saved picture. */
export type Caption = Pick<Frame, "title" | "sub" | "foot">;

/** A picture as the page shows it. `fonts`: a style sheet with the fonts themselves. */
export function pictureOf(figure: HTMLElement, caption: Caption, fonts: string): Drawing {
  const root = getComputedStyle(document.documentElement);
  const token = (name: string) => root.getPropertyValue(name).trim();
  const legend = legendOf(figure);
  const body = painted(figure);
  const defs = patternsIn(body.marks + legend.map(({ fill }) => fill).join(" "));
  const colours = { surface: token("--surface"), ink: token("--ink"), second: token("--ink-2") };
  return drawingOf({ ...caption, legend, font: token("--font"), fonts, ...colours }, { ...body, defs });
}

/** Menus, tips and text for screen readers only. */
const LEFT_OUT = ".menu, .tip, .pop, .visually-hidden, .details, button.link, [role=menu], [role=tooltip]";

/**
 * Everything within `figure`, with its upper left corner at 0, 0. A canvas in a scrolling box is drawn in full; what is
 * below it moves down.
 */
export function painted(figure: HTMLElement): Body {
  const { left, top, width, height } = figure.getBoundingClientRect();
  const marks = paint(figure, left, top).join("");
  return { width, height: height + outOfSight(figure), marks, defs: patternsIn(marks) };
}

function paint(element: Element, left: number, top: number): string[] {
  if (element.matches(LEFT_OUT)) return [];
  const box = element.getBoundingClientRect();
  const height = box.height + outOfSight(element);
  const at = { x: round(box.left - left), y: round(box.top - top), width: round(box.width), height: round(height) };
  if (element instanceof SVGSVGElement) return [chart(element, at)];
  if (element instanceof HTMLCanvasElement) return [image(element, at)];
  const styles = getComputedStyle(element);
  if (styles.display === "none" || styles.visibility === "hidden") return [];
  let origin = top;
  const inside = [...element.childNodes].flatMap((child) => {
    if (child instanceof Text) return textRuns(child, styles, left, origin);
    if (!(child instanceof Element)) return [];
    const marks = paint(child, left, origin);
    origin -= outOfSight(child);
    return marks;
  });
  return [...ground(element, styles, at), ...clipped(inside, element, at)];
}

interface At {
  x: number;
  y: number;
  width: number;
  height: number;
}

const round = (px: number): number => Math.round(10 * px) / 10;

const placeOf = ({ x, y, width, height }: At): string => `x="${x}" y="${y}" width="${width}" height="${height}"`;

/** A bar in the colour of its meaning, or any other background; a line below a row. */
function ground(element: Element, styles: CSSStyleDeclaration, at: At): string[] {
  if (at.width === 0 || at.height === 0) return [];
  const fill = element.classList.contains("fill") ? meaningOf(element) : opaque(styles.backgroundColor);
  const line = Number.parseFloat(styles.borderBottomWidth) > 0 ? opaque(styles.borderBottomColor) : null;
  return [
    ...(fill ? [`<rect ${placeOf(at)} fill="${escaped(fill)}"/>`] : []),
    ...(line ? [`<path d="M${at.x} ${round(at.y + at.height)}h${at.width}" stroke="${line}"/>`] : []),
  ];
}

const opaque = (colour: string): string | null =>
  colour === "" || colour === "transparent" || /, 0\)$/.test(colour) ? null : colour;

/** The pattern or colour that a mark of the page stands for. */
function meaningOf(mark: Element): string {
  const name = [...mark.classList].find((each) => each.startsWith("of-"))?.slice(3) ?? "other";
  const pattern = `${mark.classList.contains("hatch") ? "hatch" : "texture"}-${name}`;
  return document.getElementById(pattern) ? `url(#${pattern})` : getComputedStyle(mark).backgroundColor;
}

/** What a scrolling box or a shortened name hides stays hidden. */
function clipped(inside: string[], element: Element, { x, y, width, height }: At): string[] {
  const hides = element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1;
  if (!hides || inside.length === 0 || getComputedStyle(element).overflow === "visible") return inside;
  return [`<svg ${placeOf({ x, y, width, height })} viewBox="${x} ${y} ${width} ${height}">${inside.join("")}</svg>`];
}

/** The text of a node, one element per line on the page. */
function textRuns(node: Text, styles: CSSStyleDeclaration, left: number, top: number): string[] {
  if (node.data.trim() === "") return [];
  const looks = `font-size="${styles.fontSize}" font-weight="${styles.fontWeight}" fill="${styles.color}"`;
  const mono = /mono/i.test(styles.fontFamily) ? ` font-family="monospace"` : "";
  return linesOf(node).map(({ text, box }) => {
    const base = round(box.top - top + box.height * 0.79);
    return `<text x="${round(box.left - left)}" y="${base}" ${looks}${mono}>${escaped(text)}</text>`;
  });
}

function linesOf(node: Text): { text: string; box: DOMRect }[] {
  const range = document.createRange();
  const lines: { text: string; box: DOMRect }[] = [];
  for (const { 0: word, index } of node.data.matchAll(/\S+\s*/g)) {
    range.setStart(node, index);
    range.setEnd(node, index + word.trimEnd().length);
    const box = range.getBoundingClientRect();
    const last = lines.at(-1);
    if (last && Math.abs(last.box.top - box.top) < box.height / 2) last.text += ` ${word.trimEnd()}`;
    else lines.push({ text: word.trimEnd(), box });
  }
  return lines;
}

/** How many px of the pictures of its canvases are not visible on the page. */
function outOfSight(element: Element): number {
  const canvases = element instanceof HTMLCanvasElement ? [element] : [...element.querySelectorAll("canvas")];
  const hidden = canvases.map(
    (canvas) => (canvasMarks.get(canvas)?.height ?? 0) - canvas.getBoundingClientRect().height,
  );
  return sum(hidden, (px) => Math.max(0, px));
}

function image(canvas: HTMLCanvasElement, at: At): string {
  const drawn = canvasMarks.get(canvas);
  return drawn ? `<svg ${placeOf(at)}>${drawn.marks()}</svg>` : `<image ${placeOf(at)} href="${canvas.toDataURL()}"/>`;
}

function chart(svg: SVGSVGElement, at: At): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  carryStyles(svg, copy);
  for (const [name, value] of Object.entries({ ...at, overflow: "visible" })) copy.setAttribute(name, String(value));
  return written(copy);
}

const written = (element: Element): string =>
  new XMLSerializer().serializeToString(element).replaceAll(' xmlns="http://www.w3.org/2000/svg"', "");

const CARRIED = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-opacity",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linejoin",
  "stroke-linecap",
  "opacity",
  "text-anchor",
  "paint-order",
];

const OF_TEXT = ["font-family", "font-size", "font-weight"];

/** Attributes that are meaningful only in the page; shapes and positions are kept. */
const PAGE_ONLY = /^(class|style|tabindex|role|aria-.*|data-.*|id)$/;

/** Writes an element's computed style into its copy, because the style sheet is not copied. */
export function carryStyles(from: Element, to: Element): void {
  const styles = getComputedStyle(from);
  const names = from.tagName === "text" ? [...CARRIED, ...OF_TEXT] : CARRIED;
  for (const { name, value } of [...to.attributes])
    if ((PAGE_ONLY.test(name) && from.tagName !== "pattern") || value.includes("var(")) to.removeAttribute(name);
  const declared = names
    .map((name) => [name, styles.getPropertyValue(name)] as const)
    .filter(([, value]) => value !== "");
  // through the object model: the policy of a report does not allow a style attribute to be set as text
  (to as SVGElement).style.cssText = declared.map(([name, value]) => `${name}:${value.replaceAll('"', "'")}`).join(";");
  for (const [at, child] of [...from.children].entries()) carryStyles(child, to.children[at]!);
}

/** The patterns that the marks use as fills, with their colours written out. */
function patternsIn(marks: string): string {
  return [...document.querySelectorAll("pattern")]
    .filter((pattern) => new RegExp(`#${pattern.id}\\b`).test(marks))
    .map((pattern) => {
      const copy = pattern.cloneNode(true) as Element;
      carryStyles(pattern, copy);
      return written(copy);
    })
    .join("");
}

/** The legend of a picture: the swatches with names, in the picture or in its view, whose colours it uses. */
export function legendOf(figure: Element): LegendEntry[] {
  const shown = paintsIn(figure);
  const keys = [...(figure.closest("[data-view]") ?? figure).querySelectorAll(".swatch.fill")];
  const found = new Map<string, LegendEntry>();
  for (const key of keys) {
    const label = key.parentElement?.textContent?.trim() ?? "";
    const fill = meaningOf(key);
    if (label === "" || label.length > LONGEST || figure.contains(key) || !shown.has(fill) || found.has(fill)) continue;
    found.set(fill, { label, fill, stroke: opaque(getComputedStyle(key).getPropertyValue("--edge").trim()) ?? "none" });
  }
  return [...found.values()];
}

const LONGEST = 40;

function paintsIn(figure: Element): ReadonlySet<string> {
  const svg = [...figure.querySelectorAll("svg.chart path, svg.chart rect, svg.chart circle")];
  const html = [...figure.querySelectorAll("i.fill")];
  return new Set([...svg.map((mark) => getComputedStyle(mark).fill.replaceAll('"', "")), ...html.map(meaningOf)]);
}
