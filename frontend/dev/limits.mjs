/** Limits that no linter holds: length of lines and files, and the size of the bundle as it is served. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "vite";

const MAX_COLUMNS = 120;
const MAX_LINES = 300;

/** JavaScript and CSS together, gzipped: what a browser loads before the first picture. */
const MAX_BUNDLE_KB = 150;

/** Written by the server's types, or by a package manager. */
const GENERATED = /\.gen\.ts$/;

const complaints = [];

for (const folder of ["src", "test", "dev"]) {
  for (const name of readdirSync(folder, { recursive: true })) {
    if (!/\.(tsx?|mjs|css)$/.test(name) || GENERATED.test(name)) continue;
    const path = join(folder, name);
    const lines = readFileSync(path, "utf8").split("\n");
    if (lines.length - 1 > MAX_LINES) complaints.push(`${path}: ${lines.length - 1} lines, at most ${MAX_LINES}`);
    for (const [at, line] of lines.entries()) {
      if (line.length > MAX_COLUMNS) complaints.push(`${path}:${at + 1}: ${line.length} columns`);
    }
  }
}

const { output } = await build({ logLevel: "error", build: { write: false, reportCompressedSize: false } });
const bytes = output.reduce((sum, file) => sum + gzipSync(file.type === "chunk" ? file.code : file.source).length, 0);
const kb = bytes / 1000;
if (kb > MAX_BUNDLE_KB) complaints.push(`The bundle has ${kb.toFixed(1)} kB gzipped, at most ${MAX_BUNDLE_KB} kB`);

for (const complaint of complaints) console.error(complaint);
console.log(`Bundle: ${kb.toFixed(1)} of ${MAX_BUNDLE_KB} kB gzipped`);
process.exitCode = complaints.length > 0 ? 1 : 0;
