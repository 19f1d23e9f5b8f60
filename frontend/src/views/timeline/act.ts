/** Does what a key asked for. */

import type { Box } from "./boxes";
import { boxBeside, type Way } from "./beside";
import type { Deed } from "./keys";
import type { Scene } from "./scene";
import { around, lengthOf, panned, showing, type Stretch, touches, zoomed } from "./stretch";

/** What can be done to the picture. */
export interface Deeds {
  setSeen(next: (before: Stretch) => Stretch): void;
  point(box: Box | null): void;
  choose(box: Box | null): void;
  fold(track: number): void;
  reset(): void;
  step(by: 1 | -1): void;
  find(): void;
}

export function act(deed: Deed, scene: Scene, whole: Stretch, deeds: Deeds): void {
  switch (deed.kind) {
    case "zoom":
      return deeds.setSeen((seen) => zoomed(seen, zoomPoint(scene), deed.factor, whole));
    case "pan":
      return deeds.setSeen((seen) => panned(seen, deed.share * lengthOf(seen), whole));
    case "move":
      return move(deed.way, scene, whole, deeds);
    case "fit":
      return fit(scene, whole, deeds);
    case "open":
      return scene.pointed ? deeds.choose(scene.pointed) : undefined;
    case "drop":
      return deeds.point(null), deeds.choose(null);
    case "reset":
      return deeds.reset();
    case "step":
      return deeds.step(deed.by);
    case "find":
      return deeds.find();
    default:
      return deed satisfies never;
  }
}

/** The picture follows to an event that is not in sight; of a long one its begin is enough. */
function move(way: Way, { layers, layout, pointed, seen }: Scene, whole: Stretch, deeds: Deeds): void {
  const next = boxBeside(layers, layout, pointed, way, seen);
  if (!next) return;
  deeds.point(next);
  deeds.setSeen((before) =>
    touches(next, before)
      ? before
      : showing(before, { from: next.from, to: Math.min(next.to, next.from + lengthOf(before) / 2) }, whole),
  );
}

function fit({ pointed, chosen }: Scene, whole: Stretch, deeds: Deeds): void {
  const wanted = pointed ?? (chosen && { from: chosen.start_ns, to: chosen.end_ns });
  if (wanted) deeds.setSeen(() => around(wanted, whole));
}

/** Keys zoom where the pointer is, else at the focused event, else in the middle. */
export function zoomPoint({ pointer_ns, pointed, seen }: Pick<Scene, "pointer_ns" | "pointed" | "seen">): number {
  if (pointer_ns !== null) return pointer_ns;
  const at = pointed && touches(pointed, seen) ? pointed : seen;
  return (Math.max(at.from, seen.from) + Math.min(at.to, seen.to)) / 2;
}
