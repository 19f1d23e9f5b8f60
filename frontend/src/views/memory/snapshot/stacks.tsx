/** The stacks of what is in use at the peak, or at the moment that was clicked, as a flame graph by bytes. */

import { useMemo } from "preact/hooks";
import type { FlamePage } from "../../../api.gen";
import { Picture } from "../../../components/picture";
import { bytes, counted, fine } from "../../../format";
import { flameTable } from "../../operators/flame/picture";
import { without } from "../../operators/flame/shapes";
import { Stage, useKinds } from "../../operators/flame/stage";
import { treeOf } from "../../operators/flame/tree";
import type { SnapshotPart } from "./part";

export function Stacks({ page, tab, name, stacks }: SnapshotPart & { stacks: FlamePage }) {
  const hidden = useKinds(tab.state.kinds);
  const whole = useMemo(() => treeOf(stacks, "bytes"), [stacks]);
  const tree = useMemo(() => without(whole, hidden), [whole, hidden]);
  const chosen = tab.state.instant !== undefined;
  const title = chosen ? `What is in use at ${fine(page.at_ns)}?` : "What fills the peak?";
  return (
    <Picture
      title={title}
      sub={
        <>
          {bytes(page.at_bytes)} in {counted(page.at_count, "allocation")}{" "}
          {chosen && (
            <button class="link" onClick={() => tab.update({ instant: null, frame: null })}>
              Show the peak
            </button>
          )}
        </>
      }
      name={`stacks ${name}`}
      table={() => flameTable(tree, "bytes")}
    >
      <Stage
        tree={tree}
        whole={whole}
        hidden={hidden}
        hide={(kinds) => tab.update({ kinds: kinds.size > 0 ? kinds : null })}
        hits={null}
        text={bytes}
        label={title}
        frame={tab.state.frame}
        smallest={stacks.smallest}
        zoomTo={(frame) => tab.update({ frame })}
      />
    </Picture>
  );
}
