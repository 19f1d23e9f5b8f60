/** What is painted of a job's ranks: cells as pixels, and rows that are stretched together. */

import { expect, test } from "vitest";
import { laneLayout } from "../src/views/ranks/charts/lane_plot";
import { bandsOfRows, pixelsOf } from "../src/views/ranks/charts/lanes";

test("each cell is a pixel in the colour of its state", () => {
  const cells = Uint8Array.of(1, 2, 3, 0, 1, 1);
  const pixels = new Uint32Array(pixelsOf(cells, [0, 0xff000001, 0xff000002, 0xff000003]).buffer);
  expect([...pixels]).toEqual([0xff000001, 0xff000002, 0xff000003, 0, 0xff000001, 0xff000001]);
});

test.each([
  {
    rows: 3,
    deciding: [1],
    bands: [
      [0, 1],
      [1, 2],
      [2, 3],
    ],
  }, // all tall, with gaps
  {
    rows: 20,
    deciding: [4, 10],
    bands: [
      [0, 4],
      [4, 5],
      [5, 10],
      [10, 11],
      [11, 20],
    ],
  },
  { rows: 256, deciding: [], bands: [[0, 256]] },
  {
    rows: 256,
    deciding: [255, 0],
    bands: [
      [0, 1],
      [1, 255],
      [255, 256],
    ],
  },
])("rows of $rows ranks that touch are one band", ({ rows, deciding, bands }) => {
  expect(bandsOfRows(laneLayout(rows, deciding))).toEqual(bands);
});
