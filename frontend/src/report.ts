/** The program of a report: the same tab, over the answers that the page itself holds. */

import { render as draw, h } from "preact";
import { openUrlStore } from "./address/url";
import type { HeldAnswers, HeldEvents } from "./api.gen";
import { printView } from "./dom/print";
import { followTheme, styleSheet } from "./dom/theme";
import { App } from "./frame/app";
import { unpacked } from "./server/packed";
import { openRecorded } from "./server/recorded";

/** The page's policy lets no style sheet in but one that a program makes. */
function addStyles(): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(styleSheet());
  document.adoptedStyleSheets = [sheet];
}

/** Of a span; unpacked when its Timeline is first opened. Null: the report holds none. */
function eventsIn(page: Document): (span: string) => HeldEvents | null {
  const known = new Map<string, HeldEvents | null>();
  return (span) => {
    const letters = page.getElementById(`events-${span}`)?.textContent;
    if (!known.has(span)) known.set(span, letters ? (unpacked(letters) as unknown as HeldEvents) : null);
    return known.get(span)!;
  };
}

const DAMAGED = "This report is cut short or damaged: copy it again, or write it again with tb-steptime report.";

function show(): void {
  let recorded: HeldAnswers;
  try {
    recorded = unpacked(document.getElementById("answers")!.textContent ?? "") as unknown as HeldAnswers;
  } catch (error) {
    const said = document.getElementById("without")!;
    said.textContent = DAMAGED;
    said.hidden = false;
    throw error;
  }
  addStyles();
  followTheme(window);
  printView();
  draw(h(App, { client: openRecorded(recorded, eventsIn(document)), url: openUrlStore(window) }), document.body);
}

show();
