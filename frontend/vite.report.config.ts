import { defineConfig } from "vite";

/** The program of a report, `tb_steptime/static/report.js`: all views in one script, which a page can hold. */
export default defineConfig({
  build: {
    outDir: "../tb_steptime/static",
    emptyOutDir: false,
    target: "es2022",
    modulePreload: false,
    assetsInlineLimit: () => true, // a report has no files beside it
    rolldownOptions: {
      input: "src/report.ts",
      output: { entryFileNames: "report.js", codeSplitting: false },
    },
  },
});
