/** The program of a report: the same tab, over the answers that the page itself holds. */

import { render as draw, h } from "preact";
import { openUrlStore } from "./address/url";
import { printView } from "./dom/print";
import { followTheme, styleSheet } from "./dom/theme";
import { App } from "./frame/app";
import { unpacked } from "./server/packed";
import { openRecorded, type Recorded } from "./server/recorded";

/** The page's policy lets no style sheet in but one that a program makes. */
function addStyles(): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(styleSheet());
  document.adoptedStyleSheets = [sheet];
}

function show(): void {
  const recorded = unpacked(document.getElementById("answers")!.textContent ?? "") as unknown as Recorded;
  addStyles();
  followTheme(window);
  printView();
  draw(h(App, { client: openRecorded(recorded), url: openUrlStore(window) }), document.body);
}

show();
