/** The frame of a picture: a sentence as title, a quiet line, and a menu with its table, CSV, PNG and link. */

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Phrase } from "../api.gen";
import { copy, savePng, saveText } from "../dom/save";
import { csv, DataTable, type TableData } from "./data_table";
import { Menu } from "./popup";
import { Sentence } from "./sentence";

interface PictureProps {
  title: Phrase | string;
  sub?: ComponentChildren;
  /** Opens the name of saved files. */
  name: string;
  /** The figures of the picture; made only when asked for. */
  table(): TableData;
  /** The address that shows this picture as it is. */
  link(): string;
  /** Buttons next to the title, such as a choice of metric. */
  tools?: ComponentChildren;
  /** False where the picture is HTML and cannot be saved as pixels. */
  drawn?: boolean;
  children: ComponentChildren;
}

export function Picture({ title, sub, name, table, link, tools, drawn = true, children }: PictureProps) {
  const [asTable, setAsTable] = useState(false);
  const body = useRef<HTMLDivElement>(null);
  const entries = [
    { label: asTable ? "Show as picture" : "Show as table", choose: () => setAsTable(!asTable) },
    { label: "Save as CSV", choose: () => saveText(`${name}.csv`, csv(table()), "text/csv") },
    ...(drawn && !asTable
      ? [{ label: "Save as PNG", choose: () => body.current && savePng(`${name}.png`, body.current) }]
      : []),
    { label: "Copy link", choose: () => void copy(link()) },
  ];
  return (
    <section class="picture">
      <div class="head">
        <h2>{typeof title === "string" ? title : <Sentence phrase={title} terms />}</h2>
        {sub !== undefined && <span class="sub">{sub}</span>}
        {tools}
        <Menu label="Show as table, save or link this picture" entries={entries} />
      </div>
      <div class="figure" ref={body}>
        {asTable ? <DataTable data={table()} /> : children}
      </div>
    </section>
  );
}
