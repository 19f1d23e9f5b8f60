/** The style sheets of all views but the Overview, whose sheet comes with the page. */

import { addStyles } from "../dom/styles";

const sheets = import.meta.glob<string>(["./**/*.css", "!./overview/*.css"], {
  query: "?inline",
  import: "default",
  eager: true,
});

addStyles(Object.values(sheets).join("\n"));
