/** Every style sheet of the tab as one text: theme first, then whatever `.css` lies beside the code it dresses. */

import base from "./base.css?inline";
import meaning from "./meaning.css?inline";
import tokens from "./tokens.css?inline";

const beside = import.meta.glob<string>(["../**/*.css", "!../theme/*.css"], {
  query: "?inline",
  import: "default",
  eager: true,
});

export function styleSheet(): string {
  return [tokens, base, meaning, ...Object.values(beside)].join("\n");
}
