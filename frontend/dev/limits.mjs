/**
 * Limits that no linter holds: length of lines, style sheets of a room that depend on their order, parts of the bundle
 * that need one another, and the size of the bundle as it is served. Long files are named.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "vite";

const MAX_COLUMNS = 120;
/** A soft mark: a longer file is named, and fails nothing. */
const MANY_LINES = 500;

/** JavaScript and CSS together, gzipped: what a browser loads before the first picture, and that with all views. */
const MAX_FIRST_KB = 72;
const MAX_ALL_KB = 234;
/** The fonts, which are compressed already. */
const MAX_FONTS_KB = 58;

/** Written by the server's types, or by a package manager. */
const GENERATED = /\.gen\.ts$/;

const complaints = [];

for (const folder of ["src", "test", "dev"]) {
  for (const name of readdirSync(folder, { recursive: true })) {
    if (!/\.(tsx?|mjs|css)$/.test(name) || GENERATED.test(name)) continue;
    const path = join(folder, name);
    const lines = readFileSync(path, "utf8").split("\n");
    if (lines.length - 1 > MANY_LINES) console.log(`${path}: ${lines.length - 1} lines; is it one topic?`);
    for (const [at, line] of lines.entries()) {
      if (line.length > MAX_COLUMNS) complaints.push(`${path}:${at + 1}: ${line.length} columns`);
    }
  }
}

/** Of each room, by selector and property: the style sheet that sets it. */
const setBy = new Map();
for (const name of readdirSync("src", { recursive: true })) {
  if (!name.endsWith(".css")) continue;
  const room = name.split("/")[0];
  for (const rule of rulesOf(readFileSync(join("src", name), "utf8"))) {
    const key = `${room} ${rule}`;
    const other = setBy.get(key);
    if (other && other !== name && room !== "theme") complaints.push(`src/${name}: ${rule} is set in src/${other} too`);
    setBy.set(key, name);
  }
}

/** ".a .b color" for each selector and property. */
function* rulesOf(sheet) {
  for (const [, selectors, body] of sheet.replace(/\/\*.*?\*\//gs, "").matchAll(/([^{}]+)\{([^{}]*)\}/g))
    for (const selector of selectors.split(","))
      for (const [, property] of body.matchAll(/([\w-]+)\s*:/g))
        yield `${selector.replace(/\s+/g, " ").trim()} ${property}`;
}

const { output } = await build({ logLevel: "error", build: { write: false, reportCompressedSize: false } });
const kbOf = (files) => files.reduce((sum, { code, source }) => sum + gzipSync(code ?? source).length, 0) / 1000;
const isCode = ({ fileName }) => /\.(js|css)$/.test(fileName); // no browser loads licenses.md
const isFont = ({ fileName }) => fileName.endsWith(".woff2");
const first = output.filter(({ fileName }) => reachable("index.js").has(fileName));
const sizes = [
  ["Until the first picture", kbOf(first), MAX_FIRST_KB],
  ["With all views", kbOf(output.filter(isCode)), MAX_ALL_KB],
  ["Fonts", kbOf(output.filter(isFont)), MAX_FONTS_KB],
];
for (const [what, kb, most] of sizes) {
  if (kb > most) complaints.push(`${what} the tab has ${kb.toFixed(1)} kB gzipped, at most ${most} kB`);
}

/** What several parts need is shared, or comes with the first picture: no view waits for the part of another one. */
for (const { fileName, imports = [] } of output)
  for (const other of imports.filter((name) => !/index\.js|shared-|rolldown-runtime-/.test(name)))
    complaints.push(`${fileName} needs ${other}: see OF_NO_VIEW in vite.config.ts`);

/** A file and all that it imports before it runs. */
function reachable(name, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  for (const other of output.find(({ fileName }) => fileName === name).imports ?? []) reachable(other, found);
  return found;
}

for (const complaint of complaints) console.error(complaint);
for (const [what, kb, most] of sizes) console.log(`${what}: ${kb.toFixed(1)} of ${most} kB gzipped`);
process.exitCode = complaints.length > 0 ? 1 : 0;
