/**
 * The place of the lines in the view: the part is loaded when it scrolls into view, or at once where the address names
 * a line.
 */

import { useEffect, useRef, useState } from "preact/hooks";
import { later } from "../../lazy";
import { useSeen } from "../flame/data";
import type { OperatorPart } from "../tables";

const PART = later(async () => (await import("./lines")).Lines);

export function LinesPlace({ part, span }: { part: OperatorPart; span: string }) {
  const box = useRef<HTMLDivElement>(null);
  const seen = useSeen(box);
  const [, drawAgain] = useState(0);
  const asked = part.tab.state.line !== undefined;
  useEffect(() => {
    if (!seen && !asked) return;
    PART.load().then(
      () => drawAgain((drawn) => drawn + 1),
      () => {}, // the part could not be loaded: the place stays empty
    );
  }, [seen, asked]);
  const Lines = PART.now();
  return (
    <div class={Lines ? "lines-place" : "lines-place waits"} ref={box}>
      {Lines && <Lines part={part} span={span} />}
    </div>
  );
}
