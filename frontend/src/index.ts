/** The tab's one export: TensorBoard loads the bundle into an empty frame and calls `render()`. */

import { VIEWS } from "./views";

export function render(): void {
  console.debug(Object.keys(VIEWS));
}
