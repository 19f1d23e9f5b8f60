/** The program of a report: the same tab, fed with the answers that the page itself contains. */

import { render as draw, h } from "preact";
import { decode } from "./address/keys";
import { openUrlStore, parse, write } from "./address/url";
import type { IncludedAnswers, IncludedEvents, IncludedFlames } from "./api.gen";
import { loadFonts } from "./dom/fonts";
import { showStyles } from "./dom/styles";
import { followTheme, printView } from "./dom/theme";
import { App } from "./frame/app";
import type { Place } from "./server/client";
import { decompressed, openRecorded, unpacked } from "./server/recorded";

type Texts = ReadonlyMap<string, string>;

/** The texts that the page contains, by name: all answers, and the events and flame graph of each span. */
async function textsIn(page: Document): Promise<Texts> {
  const blocks = [...page.querySelectorAll('script[type="text/plain"]:not(#program)')];
  return new Map(
    await Promise.all(blocks.map(async ({ id, textContent }) => [id, await decompressed(textContent ?? "")] as const)),
  );
}

/** Reads a span's part when it is first requested. Null: the report does not contain it. */
function partsIn<Part>(texts: Texts, kind: "events" | "flame"): (span: string) => Part | null {
  const parts = new Map<string, Part | null>();
  return (span) => {
    const text = texts.get(`${kind}-${span}`);
    if (!parts.has(span)) parts.set(span, text === undefined ? null : (unpacked(text) as unknown as Part));
    return parts.get(span)!;
  };
}

const DAMAGED = "This report is cut short or damaged: copy it again, or write it again with tb-steptime report.";

async function show(): Promise<void> {
  const fonts = loadFonts();
  let texts: Texts;
  let recorded: IncludedAnswers;
  try {
    texts = await textsIn(document);
    recorded = unpacked(texts.get("answers") ?? "") as unknown as IncludedAnswers;
  } catch (error) {
    const message = document.getElementById("without")!;
    message.textContent = DAMAGED;
    message.hidden = false;
    throw error;
  }
  showStyles();
  followTheme(window);
  printView();
  const client = openRecorded(
    recorded,
    partsIn<IncludedEvents>(texts, "events"),
    partsIn<IncludedFlames>(texts, "flame"),
  );
  openAt(recorded.place);
  await fonts;
  draw(h(App, { client, url: openUrlStore(window) }), document.body);
}

/** Opens where the report was saved, unless a link says where. */
function openAt(place: Place): void {
  if (Object.keys(parse(window.location.hash)).length > 0) return;
  window.history.replaceState(null, "", write("", decode(Object.entries(place))));
}

void show();
