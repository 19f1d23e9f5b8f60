import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const TEST_PATIENCE_MS = 60_000;

/**
 * Vite wraps each `import()` in a function that loads style sheets and preloads parts. Here parts have no style sheet of
 * their own, and nothing is preloaded: the function only calls what it is given.
 */
const withoutPreload: Plugin = {
  name: "without-preload",
  enforce: "pre",
  load: (id) => (id === "\0vite/preload-helper.js" ? "export const __vitePreload = (load) => load();" : null),
};

/** What is loaded later and belongs to no view. It comes before the views, so that their parts do not need one another. */
const OF_NO_VIEW = /\.css|src.(dom|frame)\b|views.(markdown|styles|memory.snapshot.choice|timeline.input.shortcuts)/;

/**
 * The ES module that TensorBoard imports, `import("./index.js").then(m => m.render())`, and its parts: all of the first
 * picture comes with it, in one answer. Other views come when one of them is opened, together with those that a reader
 * opens next; a part for each view takes 4 % more in all. A part's name holds the hash of its content, so that browsers
 * keep it.
 *
 * An entry and not `build.lib`: library mode leaves white space in the output. The entry exports `render`, and what the
 * parts take from it.
 */
export default defineConfig({
  base: "./",
  plugins: [withoutPreload],
  build: {
    outDir: "../tb_steptime/static",
    emptyOutDir: true,
    license: { fileName: "licenses.md" },
    target: "es2022",
    modulePreload: false,
    rolldownOptions: {
      input: "src/index.ts",
      preserveEntrySignatures: "allow-extension",
      output: {
        entryFileNames: "index.js",
        chunkFileNames: "parts/[name]-[hash].js",
        assetFileNames: "parts/[name]-[hash][extname]",
        codeSplitting: {
          groups: [
            { name: "index", tags: ["$initial"], priority: 1 },
            { name: "shared", minShareCount: 2 },
            { name: "rest", test: OF_NO_VIEW },
            { name: "device", test: /src.views.(gpu|tensor_cores|operators|host|memory)\b/ },
            { name: "runs", test: /src.views.(trends|compare|ranks|runs)\b/ },
            { name: "time", test: /src.views.(data_loading|timeline)\b/ },
          ],
        },
      },
    },
  },
  test: {
    // Files share one module graph: no test changes a module, and starting anew for each file took longer than the tests.
    pool: "threads",
    isolate: false,
    // No test takes a second by itself: these are for a machine on which fifty other things run.
    testTimeout: TEST_PATIENCE_MS,
    hookTimeout: TEST_PATIENCE_MS,
    projects: [
      { extends: true, test: { name: "text", include: ["test/*.test.{ts,tsx}"], environment: "node" } },
      {
        extends: true,
        test: {
          name: "dom",
          include: ["test/dom/*.test.tsx"],
          environment: "happy-dom",
          setupFiles: ["test/dom/setup.ts"],
        },
      },
    ],
  },
});
