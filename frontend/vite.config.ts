import { defineConfig } from "vitest/config";

/**
 * One ES module that TensorBoard imports: `import("./index.js").then(m => m.render())`.
 *
 * An entry and not `build.lib`: library mode leaves white space in the output. The entry's signature is kept, so that
 * `render` is still exported.
 */
export default defineConfig({
  base: "./",
  build: {
    outDir: "../tb_steptime/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    rolldownOptions: {
      input: "src/index.ts",
      preserveEntrySignatures: "strict",
      output: { entryFileNames: "index.js", codeSplitting: false },
    },
  },
  test: { include: ["test/**/*.test.{ts,tsx}"], environment: "node" },
});
