/** The views of the list, each with the key that opens it. */

import type { Changes } from "../address/keys";
import type { ViewId, ViewMeaning } from "../api.gen";
import { isViewId } from "../views";
import type { Tab } from "../views/props";

export interface KeyedView extends ViewMeaning {
  id: ViewId;
  /** Undefined: none is left. */
  key: string | undefined;
}

/** More views have a digit than there are digits. 0 and - are no keys of views: pictures zoom with them. */
const LETTERS: Readonly<Partial<Record<ViewId, string>>> = { ranks: "R", timeline: "T" };

export const keyedViews = ({ meanings }: Pick<Tab, "meanings">): KeyedView[] =>
  meanings.views
    .flatMap((view) => (isViewId(view.id) ? [{ ...view, id: view.id }] : []))
    .map((view, at) => ({
      ...view,
      key: LETTERS[view.id] ?? "123456789"[at],
    }));

/** Opens a view of the recording, whatever is shown in place of one. */
export const viewAlone = (view: ViewId): Changes => ({ view, mark: null, all: null, snapshot: null });
