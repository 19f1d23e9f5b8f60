/**
 * The tab's own fonts, so that every machine draws the same. They are files beside the script, and of a report a part
 * of it; no host is asked for them.
 *
 * A font that comes after the first picture would move it. The first picture therefore waits for them, but not for
 * long: where they are late, it has the reader's own font, and the next view or run that is opened has these.
 */

import text from "@fontsource/roboto/files/roboto-latin-400-normal.woff2?url";
import strong from "@fontsource/roboto/files/roboto-latin-500-normal.woff2?url";
import code from "@fontsource/roboto-mono/files/roboto-mono-latin-400-normal.woff2?url";
import { forgetWidths } from "./text_width";

/** weight: the weights that are drawn with it. The tab's strong text is 600, because other fonts have no 500. */
const FACES = [
  { family: "Roboto", weight: "400", address: text },
  { family: "Roboto", weight: "500 700", address: strong },
  { family: "Roboto Mono", weight: "400", address: code },
] as const;

/** From an idle server on the same machine, the fonts take 10 to 30 ms. */
const PATIENCE_MS = 200;

/** Fonts that arrived after the first picture was drawn. */
let waiting: readonly FontFace[] = [];

/** Ends once all fonts can be drawn with, or are late. */
export async function loadFonts(): Promise<void> {
  if (typeof FontFace === "undefined") return;
  const loading = Promise.all(
    FACES.map(({ family, weight, address }) => new FontFace(family, `url("${address}")`, { weight }).load()),
  ).then(
    (faces) => {
      waiting = faces;
    },
    () => {}, // without them the reader's own font stays
  );
  await Promise.race([loading, new Promise((resolve) => setTimeout(resolve, PATIENCE_MS))]);
  adoptFonts();
}

/** Draws with fonts that came late, where everything that is shown is about to change. */
export function adoptFonts(): void {
  if (waiting.length === 0) return;
  for (const face of waiting) document.fonts.add(face);
  waiting = [];
  forgetWidths();
}

/** A style sheet that contains the fonts: a picture that is drawn as an image has no others. */
export async function fontSheet(): Promise<string> {
  const rules = await Promise.all(
    FACES.map(async ({ family, weight, address }) => {
      const data = await asData(address).catch(() => null);
      return data && `@font-face{font-family:"${family}";font-weight:${weight};src:url("${data}")}`;
    }),
  );
  return rules.join("");
}

async function asData(address: string): Promise<string> {
  if (address.startsWith("data:")) return address;
  const bytes = new Uint8Array(await (await fetch(address)).arrayBuffer());
  return `data:font/woff2;base64,${btoa(bytes.reduce((letters, byte) => letters + String.fromCharCode(byte), ""))}`;
}
