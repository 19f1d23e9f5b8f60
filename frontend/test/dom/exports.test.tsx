/** Saved pictures: each is one complete document, named after what it shows. */

import { expect, test } from "vitest";
import { aboutSpan, fileStem, footOf } from "../../src/components/about";
import { csv, type TableData, tsv } from "../../src/components/data_table";
import { drawingOf, wrapped } from "../../src/dom/drawing";
import { canvasMarks } from "../../src/dom/marks";
import { carryStyles, legendOf, painted } from "../../src/dom/painted";
import { HEAD } from "../fixtures/pages";

const ABOUT = aboutSpan("data_loading", HEAD, { meanings: { version: "1.2.3" }, address: () => "#here" });

const TABLE: TableData = {
  columns: [{ label: "Name" }, { label: "Wait", unit: "ns" }],
  rows: [
    ["=SUM(A1)", 5],
    ["a\tb", null],
  ],
};

test("a saved picture holds title, second line, legend, marks and recording, in written-out colours", () => {
  const { svg, width, height } = drawingOf(
    {
      title: "Kernel & copies",
      sub: "step 6",
      legend: [{ label: "Data loading", fill: "url(#texture-data)", stroke: "none" }],
      foot: footOf(ABOUT),
      font: 'Roboto, "Noto Sans"',
      fonts: '@font-face{font-family:"Roboto"}',
      surface: "#ffffff",
      ink: "#1d1d1b",
      second: "#595956",
    },
    { width: 600, height: 100, defs: '<pattern id="texture-data"/>', marks: '<path d="M0 0h9"/>' },
  );
  const text = (x: number, y: number, size: number, weight: number, fill: string, words: string) =>
    `<text x="${x}" y="${y}" font-size="${size}" font-weight="${weight}" fill="${fill}">${words}</text>`;
  expect({ width, height }).toEqual({ width: 632, height: 230 });
  expect(svg).toBe(
    '<svg xmlns="http://www.w3.org/2000/svg" width="632" height="230" viewBox="0 0 632 230" ' +
      'font-family="Roboto, &quot;Noto Sans&quot;" style="font-variant-numeric:tabular-nums">' +
      '<title>Kernel &amp; copies</title><style>@font-face{font-family:"Roboto"}</style>' +
      '<defs><pattern id="texture-data"/></defs>' +
      '<rect width="632" height="230" fill="#ffffff"/>' +
      text(16, 31, 14, 600, "#1d1d1b", "Kernel &amp; copies") +
      text(16, 49, 12, 400, "#595956", "step 6") +
      '<rect x="16" y="62" width="10" height="10" fill="url(#texture-data)" stroke="none"/>' +
      '<text x="32" y="71" font-size="12" fill="#595956">Data loading</text>' +
      '<g transform="translate(16 88)"><path d="M0 0h9"/></g>' +
      text(16, 209, 11, 400, "#595956", footOf(ABOUT)) +
      "</svg>",
  );
});

test("the foot names run, worker, span, day and version; a file its run, view and picture", () => {
  expect(footOf(ABOUT)).toBe(
    `${HEAD.run} · ${HEAD.worker} · span ${HEAD.number} · ${ABOUT.words[3]} · tb-steptime 1.2.3`,
  );
  expect(ABOUT.words[3]).toMatch(/^recorded \d+\s\w+\s\d{4}$/);
  const stem = `${HEAD.run} ${HEAD.worker} span ${HEAD.number} data loading waits by batch`;
  expect(fileStem(ABOUT, `waits by batch ${ABOUT.recording}`)).toBe(stem.replace(/[/:]/g, " "));
  expect(fileStem({ ...ABOUT, recording: "a/b:c" }, "x?")).toBe("a b c data loading x");
});

test("words are broken between lines, none is lost", () => {
  expect(wrapped("one two three", 7)).toEqual(["one two", "three"]);
  expect(wrapped("", 7)).toEqual([]);
});

test("what is copied or saved as a table has units in its head, and runs no formula", () => {
  expect(tsv(TABLE)).toBe("Name\tWait (ns)\n'=SUM(A1)\t5\na b\t");
  expect(csv(TABLE)).toBe("Name,Wait (ns)\r\n'=SUM(A1),5\r\na\tb,\r\n");
});

function page(html: string): HTMLElement {
  document.body.innerHTML = `<svg><defs>
    <pattern id="texture-data"><rect fill="var(--c-data)"/></pattern></defs></svg>${html}`;
  return document.querySelector<HTMLElement>(".figure")!;
}

test("the picture's own bars and words are drawn; tips are not", () => {
  const figure = page(
    '<div class="figure"><i class="fill of-data"></i><p>Wait</p><b class="tip">no</b><b class="menu">no</b></div>',
  );
  expect(painted(figure).marks).toContain(">Wait</text>");
  expect(painted(figure).marks).not.toContain(">no<");
});

test("all of a canvas that scrolls is saved, and what stands below it moves down", () => {
  const figure = page('<div class="figure"><p>above</p><div><canvas></canvas></div><p>below</p></div>');
  const canvas = figure.querySelector("canvas")!;
  const shown = { height: 300, bottom: 320 } as DOMRect;
  canvas.getBoundingClientRect = () => ({ ...new DOMRect(0, 20, 90, 300).toJSON(), ...shown });
  canvasMarks.set(canvas, { height: 1000, marks: () => '<rect id="row-50"/>' });
  const { height, marks } = painted(figure);
  // The figure itself has no height on this page, so only the 700 px of the canvas that are scrolled away count.
  expect(height).toBe(700);
  expect(marks).toContain('<svg x="0" y="20" width="90" height="1000"><rect id="row-50"/></svg>');
  const lines = [...marks.matchAll(/y="(-?\d+)"[^>]*>(above|below)</g)].map(([, y, words]) => [words, Number(y)]);
  expect(lines).toEqual([
    ["above", 0],
    ["below", 700],
  ]);
});

test("no variable of a style sheet is left in a copy", () => {
  const figure = page('<div class="figure"><svg><path class="mark" fill="var(--c-data)" d="M0 0"/></svg></div>');
  const path = figure.querySelector("path")!;
  const copy = path.cloneNode(true) as Element;
  carryStyles(path, copy);
  expect(copy.outerHTML).not.toMatch(/var\(|class=/);
});

test("the legend is of the colours that the picture shows, from wherever in its view it stands", () => {
  const figure = page(
    `<div data-view="overview">
       <span class="k"><i class="swatch fill of-data"></i>Data loading</span>
       <span class="k"><i class="swatch fill of-comm"></i>Communication</span>
       <div class="figure"><i class="fill of-data"></i></div></div>`,
  );
  expect(legendOf(figure).map(({ label, fill }) => [label, fill])).toEqual([["Data loading", "url(#texture-data)"]]);
});
