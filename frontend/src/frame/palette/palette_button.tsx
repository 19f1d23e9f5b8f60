/** The bar's field that opens the palette, as Ctrl+K does, and the keys that work in every view. */

import { useState } from "preact/hooks";
import type { Selection } from "../../address/selection";
import { useLater } from "../../dom/hooks";
import { isPlain } from "../../dom/keys";
import { later } from "../../lazy";
import { answerOnce, pageName, type Source } from "../../server/use_answer";
import { focusSearch, handOver, usePageKeys } from "../shortcuts";
import { keyedViews, viewAlone } from "../view_keys";
import { Glass, type PaletteProps } from "./glass";

export const PALETTE = later(async () => (await import("./palette")).Palette);

export function PaletteButton(props: PaletteProps) {
  const [open, setOpen] = useState(false);
  const Palette = useLater(PALETTE, open, () => setOpen(false));
  usePageKeys((event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey) return false;
    setOpen(true);
    return true;
  });
  useViewKeys(props, open);
  return (
    <>
      <div class="go-to-place">
        <button
          class="button go-to"
          aria-haspopup="dialog"
          aria-keyshortcuts="Control+K Meta+K"
          onClick={() => setOpen(true)}
        >
          <Glass />
          <span>Go to anything</span>
          <kbd aria-hidden="true">Ctrl K</kbd>
        </button>
      </div>
      {Palette && <Palette {...props} close={() => setOpen(false)} />}
    </>
  );
}

/**
 * Keys that change the view or the step, or focus its search field. `opens`: what is typed is meant for the palette.
 */
function useViewKeys({ tab, selection, source }: PaletteProps, opens: boolean): void {
  const stepBy = async (by: 1 | -1) => {
    const page = await overviewOf(selection, source);
    const names = page?.result.steps.map(({ name }) => name) ?? [];
    const at = names.indexOf(tab.state.step ?? "");
    const next = at < 0 ? (by > 0 ? 0 : names.length - 1) : at + by;
    if (names[next] !== undefined) tab.update({ step: names[next], zoom: null, event: null });
  };
  usePageKeys((event) => {
    if (!isPlain(event) || opens || document.querySelector("dialog[open]")) return false;
    if (handOver(event)) return true;
    const view = keyedViews(tab).find(({ key }) => key === event.key.toUpperCase());
    if (view) {
      tab.update(viewAlone(view.id));
      return true;
    }
    if (event.key === "/") return focusSearch();
    if (event.key !== "[" && event.key !== "]") return false;
    void stepBy(event.key === "]" ? 1 : -1);
    return true;
  });
}

const overviewOf = ({ span }: Selection, { client, cache }: Source) =>
  answerOnce(cache, pageName("overview", span.id), (signal) => client.view(span.id, "overview", signal));
