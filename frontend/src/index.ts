/** The tab's one export: TensorBoard loads the bundle into an empty frame and calls `render()`. */

import { render as draw, h } from "preact";
import { openUrlStore, outerPage } from "./address/url";
import { loadFonts } from "./dom/fonts";
import { showStyles } from "./dom/styles";
import { followTheme, printView } from "./dom/theme";
import { App, firstPage } from "./frame/app";
import { openClient } from "./server/client";
import { broughtAlong, opened } from "./server/opening";
import type { AnswerCache } from "./server/use_answer";

export async function render(): Promise<void> {
  const fonts = loadFonts();
  document.documentElement.lang = "en";
  document.title = "Step Insights";
  showStyles();
  const outer = outerPage();
  const url = openUrlStore(outer);
  const cache: AnswerCache = new Map();
  const server = broughtAlong(openClient());
  const client = opened(server, url.read(), firstPage(url.read()), cache);
  followTheme(outer);
  printView();
  await fonts;
  draw(h(App, { client, url, answers: cache }), document.body);
}
