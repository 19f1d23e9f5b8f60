/** One step in lanes: what ran when, what launched it, and what it waited for. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { EventLink } from "../api.gen";
import { Picture } from "../components/picture";
import { count, scaleFor } from "../format";
import type { SpanViewProps } from "./props";
import type { Deeds } from "./timeline/act";
import type { Box } from "./timeline/boxes";
import { eventOf, readyDetail, useDetail } from "./timeline/detail";
import { inSightText, stepTitle, tableOf } from "./timeline/figures";
import { layoutOf } from "./timeline/layout";
import { usePages } from "./timeline/loading";
import { Notice } from "./timeline/notice";
import { layers as layersOf } from "./timeline/pages";
import { Panel } from "./timeline/panel";
import { GUTTER_PX } from "./timeline/scene";
import { litBy, litCount, nextLit } from "./timeline/search";
import { useSeen } from "./timeline/seen";
import { type Size, usePalette } from "./timeline/size";
import { Stage } from "./timeline/stage";
import { around, ruler as rulerOf, showing, type Stretch, zoomed } from "./timeline/stretch";
import { Search, StepTools } from "./timeline/tools";

/** Another span is another picture: nothing of the last one is kept. */
export function Timeline(props: SpanViewProps<"timeline">) {
  return <Opened key={props.page.head.id} {...props} />;
}

function Opened({ page, tab }: SpanViewProps<"timeline">) {
  const { result, head } = page;
  const { whole, seen, setSeen, step, at, reset, goTo } = useSeen(result, tab);
  const scroller = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const [size, resize] = useState<Size>({ width: 0, height: 0 });
  const palette = usePalette();
  const loaded = usePages(tab.events, head.id, seen, Math.max(0, size.width - GUTTER_PX), whole);
  const event = eventOf(tab.state["event"]);
  const asked = useDetail(tab.events, head.id, event);
  const chosen = readyDetail(asked);
  const [pointed, point] = useState<Box | null>(null);
  const [together, setTogether] = useState(1);
  const [turned, turn] = useState<ReadonlySet<number>>(new Set());
  const [words, write] = useState("");

  const ruler = rulerOf(seen, GUTTER_PX, size.width);
  const layers = useMemo(() => layersOf(loaded.pages, seen, ruler.ns_per_px), [loaded.pages, seen, size.width]);
  const hasQueue = loaded.pages.some(({ boxes }) => boxes.queue !== null);
  const layout = useMemo(() => layoutOf(loaded.tracks, hasQueue, turned), [loaded.tracks, hasQueue, turned]);
  const lit = useMemo(() => litBy(words), [words]);
  const found = useMemo(() => lit && litCount(layers, lit), [lit, layers]);
  useShownOnce(chosen && { from: chosen.start_ns, to: chosen.end_ns }, event, (stretch) =>
    setSeen((before) => showing(before, stretch, whole)),
  );

  const zoom = (factor: number) => setSeen((before) => zoomed(before, (before.from + before.to) / 2, factor, whole));
  const choose = (number: number | null, of: number) => {
    setTogether(of);
    tab.update({ event: number === null ? null : String(number) });
  };
  const go = (link: EventLink) => {
    choose(link.event, 1);
    setSeen((before) => showing(before, { from: link.start_ns, to: link.end_ns }, whole));
  };
  const next = (backwards: boolean) => {
    const box = lit && nextLit(layers, lit, pointed, backwards);
    if (!box) return;
    point(box);
    choose(box.event, box.count);
  };
  const deeds: Deeds = {
    setSeen,
    point,
    reset,
    choose: (box) => choose(box?.event ?? null, box?.count ?? 1),
    fold: (track) => turn(toggled(turned, track)),
    step: (by) => at !== null && goTo(at + by),
    find: () => field.current?.focus(),
  };
  const scale = scaleFor(Math.max(Math.abs(seen.from - step.start_ns), Math.abs(seen.to - step.start_ns)), "ns");
  return (
    <div class={event === null ? "view" : "view opened"} data-view="timeline">
      <Picture
        title={stepTitle(step)}
        sub={inSightText(step, seen)}
        name={`${head.run} ${head.worker} span ${head.number} timeline`}
        table={() => tableOf(layers, layout, step)}
        link={() => tab.address()}
        tools={
          <>
            <StepTools at={at} count={result.steps.length} goTo={goTo} zoom={zoom} reset={reset} />
            <Search
              field={field}
              words={words}
              found={found}
              write={write}
              next={next}
              leave={() => scroller.current?.focus()}
            />
          </>
        }
      >
        <div class="staged">
          <Stage
            label={`${stepTitle(step)}: ${count(layout.tracks.size)} tracks of events over time, ${inSightText(step, seen)}. Arrow keys go from event to event.`}
            shown={{ seen, ruler, layout, layers, palette, steps: result.steps, step, scale, lit, pointed, chosen }}
            whole={whole}
            size={size}
            resize={resize}
            scroller={scroller}
            deeds={deeds}
          />
          <Notice {...loaded} />
        </div>
      </Picture>
      <Panel
        asked={asked}
        together={together}
        origin_ns={step.start_ns}
        go={go}
        close={() => choose(null, 1)}
        zoom={() => chosen && setSeen(around({ from: chosen.start_ns, to: chosen.end_ns }, whole))}
      />
    </div>
  );
}

function toggled(turned: ReadonlySet<number>, track: number): ReadonlySet<number> {
  const next = new Set(turned);
  if (!next.delete(track)) next.add(track);
  return next;
}

/** An address that names an event shows it; what was chosen by a press is in sight already. */
function useShownOnce(stretch: Stretch | null, event: number | null, show: (stretch: Stretch) => void): void {
  const opened = useRef(event);
  useEffect(() => {
    if (stretch === null || opened.current !== event) return;
    opened.current = null;
    show(stretch);
  }, [stretch !== null, event]);
}
