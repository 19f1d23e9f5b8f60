/** The tab's one export: TensorBoard loads the bundle into an empty frame and calls `render()`. */

import { render as draw, h } from "preact";
import { openUrlStore, outerPage } from "./address/url";
import { printView } from "./dom/print";
import { followTheme, styleSheet } from "./dom/theme";
import { App } from "./frame/app";
import { openClient } from "./server/client";

export function render(): void {
  document.documentElement.lang = "en";
  document.title = "Step Insights";
  const style = document.createElement("style");
  style.textContent = styleSheet();
  document.head.append(style);
  const outer = outerPage();
  followTheme(outer);
  printView();
  draw(h(App, { client: openClient(), url: openUrlStore(outer) }), document.body);
}
