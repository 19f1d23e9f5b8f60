/** The program of a report: the same tab, over the answers that the page itself holds. */

import { render as draw, h } from "preact";
import { openUrlStore } from "./address/url";
import type { HeldAnswers, HeldEvents, HeldFlames } from "./api.gen";
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

/** Of a span, in parts of the page that are unpacked when they are first asked for. Null: the report holds none. */
function partsIn<Part>(page: Document, kind: "events" | "flame"): (span: string) => Part | null {
  const known = new Map<string, Part | null>();
  return (span) => {
    const letters = page.getElementById(`${kind}-${span}`)?.textContent;
    if (!known.has(span)) known.set(span, letters ? (unpacked(letters) as unknown as Part) : null);
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
  const client = openRecorded(
    recorded,
    partsIn<HeldEvents>(document, "events"),
    partsIn<HeldFlames>(document, "flame"),
  );
  draw(h(App, { client, url: openUrlStore(window) }), document.body);
}

show();
