/** The tab's style sheets. */

import { meaningSheet } from "../colour";
import base from "../theme/base.css?inline";
import forced from "../theme/forced.css?inline";
import meaning from "../theme/meaning.css?inline";
import print from "../theme/print.css?inline";
import tokens from "../theme/tokens.css?inline";

const beside = import.meta.glob<string>(["../{charts,components,frame,states}/**/*.css", "../views/overview/*.css"], {
  query: "?inline",
  import: "default",
  eager: true,
});

/**
 * The folders, each after those that it builds on. Within a folder the order does not matter, which `dev/limits.mjs`
 * checks.
 */
const ROOMS = ["charts", "components", "frame", "states", "views"];

const roomOf = (path: string): number => ROOMS.findIndex((room) => path.startsWith(`../${room}/`));

/** The sheets that the page begins with. */
function first(): string {
  const sheets = Object.entries(beside).sort(([a], [b]) => roomOf(a) - roomOf(b));
  return [tokens, base, meaning, meaningSheet(), ...sheets.map(([, sheet]) => sheet)].join("\n");
}

/** Those of other views, which are added when the first of these is loaded. */
let ofViews = "";

let shown = false;

/** Applies them through the object model: the policy of a report allows no other style sheet. */
export function showStyles(): void {
  shown = true;
  document.adoptedStyleSheets = [first(), ofViews, print, forced].map((text) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    return sheet;
  });
}

/** In a report they are here before the page is. */
export function addStyles(text: string): void {
  ofViews = text;
  if (shown) showStyles();
}
