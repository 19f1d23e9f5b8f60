/**
 * The frame of a picture: a sentence as the title, a subtitle, and a menu that shows its table, saves and copies it.
 */

import type { ComponentChildren } from "preact";
import { useContext, useRef, useState } from "preact/hooks";
import type { Phrase } from "../api.gen";
import type { Caption } from "../dom/painted";
import { copy, savePng, saveSvg, saveText } from "../dom/save";
import { sentence } from "../phrase";
import { AboutContext, fileStem, footOf } from "./about";
import { csv, DataTable, type TableData, tsv } from "./data_table";
import { Menu, type MenuEntry } from "./popup";
import { Details, Sentence } from "./sentence";

export interface PictureProps {
  title: Phrase | string;
  sub?: ComponentChildren;
  /** What the picture shows and how, for who asks: a hint beside the title, and a part of the saved picture. */
  details?: Phrase | string | null | undefined | false;
  /** The subtitle is long and gets a line of its own, and the buttons wrap. */
  below?: boolean;
  /** The beginning of the names of saved files. */
  name: string;
  /** Returns the figures of the picture; called only when they are needed. */
  table(): TableData;
  /** The address that shows this picture as it is, where the page's address does not. */
  link?(): string;
  entries?: readonly MenuEntry[];
  /** Buttons next to the title, such as a choice of metric. */
  tools?: ComponentChildren;
  /** False where the picture is a table: then its figures can be saved, but not an image. */
  drawn?: boolean;
  children: ComponentChildren;
}

interface SectionProps {
  title: ComponentChildren;
  sub?: ComponentChildren;
  details?: Phrase | string | null | undefined;
  class?: string;
  children: ComponentChildren;
}

/** What has a title, and is no picture that could be saved. */
export const Section = ({ title, sub, details, class: className = "devices", children }: SectionProps) => (
  <section class={className}>
    <div class="head">
      <h2>{title}</h2>
      {sub && <span class="sub">{sub}</span>}
      <Details text={details} />
    </div>
    {children}
  </section>
);

interface NoPictureProps {
  title: Phrase | string;
  /** Why there is no answer; absent: it is on its way, and the children say so. */
  why?: Phrase | string;
  children?: ComponentChildren;
}

/** The place of a picture that is not drawn: its question in one line, and in a hint why there is no answer. */
export const NoPicture = ({ title, why, children }: NoPictureProps) => (
  <Section
    class={why ? "picture no-picture" : "picture"}
    title={<Sentence phrase={title} />}
    sub={why && "not known"}
    details={why}
  >
    {children}
  </Section>
);

/** A subtitle up to this many characters is not broken: the title wraps instead. */
const SHORT = 24;

export function Picture(props: PictureProps) {
  const { title, details, below = false, name, table, entries: more = [], tools, drawn = true, children } = props;
  const heading = sentence(title);
  // "Copies take 20 µs a step" needs no subtitle "a step"
  const sub = typeof props.sub === "string" && heading.includes(` ${props.sub}`) ? undefined : props.sub;
  const [asTable, setAsTable] = useState(false);
  const body = useRef<HTMLDivElement>(null);
  const second = useRef<HTMLSpanElement>(null);
  const about = useContext(AboutContext);
  const { link = about.link } = props;
  const stem = fileStem(about, name);
  const caption = (): Caption => ({
    title: heading,
    sub: [sub !== undefined && second.current?.textContent, details && sentence(details)].filter(Boolean).join(". "),
    foot: footOf(about),
  });
  const entries = [
    { label: asTable ? "Show as picture" : "Show as table", choose: () => setAsTable(!asTable) },
    { label: "Save as CSV", choose: () => saveText(`${stem}.csv`, csv(table()), "text/csv") },
    ...(drawn && !asTable
      ? [
          { label: "Save as PNG", choose: () => body.current && savePng(`${stem}.png`, body.current, caption()) },
          { label: "Save as SVG", choose: () => body.current && saveSvg(`${stem}.svg`, body.current, caption()) },
        ]
      : []),
    { label: "Copy table", choose: () => void copy(tsv(table())) },
    { label: "Copy link", choose: () => void copy(link()) },
    ...more,
  ];
  return (
    <section class="picture">
      <div class={below ? "head wraps" : "head"}>
        <h2>
          <Sentence phrase={title} terms />
        </h2>
        {sub !== undefined && (
          <span
            class={below ? "sub below" : typeof sub === "string" && sub.length <= SHORT ? "sub short" : "sub"}
            ref={second}
          >
            {sub}
          </span>
        )}
        <Details text={details} />
        {tools}
        <Menu label="Show as table, save or link this picture" entries={entries} />
      </div>
      <div class="figure" ref={body}>
        {asTable ? <DataTable data={table()} /> : children}
      </div>
    </section>
  );
}
