import { expect, test } from "vitest";
import type { Address } from "../src/address/keys";
import { parse, write } from "../src/address/url";

test("only our own keys are read", () => {
  expect(parse("#tb_steptime&p.tb_steptime.view=trends&p.other.view=x&runSelectionState=e30")).toEqual({
    view: "trends",
  });
  expect(parse("")).toEqual({});
  expect(parse("#scalars")).toEqual({});
});

test("what is written is read again, whatever is in it", () => {
  const state: Address = {
    run: "a/b & c=d",
    step: "100%",
    worker: "",
    span: 12,
    zoom: { from: -50, to: 1500 },
    off: new Set(["kernel", "other"]),
    runs: ["a, b", "c&d"],
  };
  expect(parse(write("#tb_steptime", state))).toEqual(state);
});

test("others' keys keep their place and spelling; ours are replaced or taken out", () => {
  const hash = "#tb_steptime&smoothing=0.6&p.tb_steptime.view=trends&p.tb_steptime.step=5&p.x.y=%7B";
  expect(write(hash, { step: null, view: "overview" })).toBe(
    "#tb_steptime&smoothing=0.6&p.x.y=%7B&p.tb_steptime.view=overview",
  );
});

test("an address that names no plugin comes to name ours", () => {
  expect(write("", { view: "trends" })).toBe("#tb_steptime&p.tb_steptime.view=trends");
  expect(write("#smoothing=0.6", { view: "trends" })).toBe("#tb_steptime&smoothing=0.6&p.tb_steptime.view=trends");
});

test("a lone percent sign in a hand-edited address stands for itself", () => {
  expect(parse("#tb_steptime&p.tb_steptime.run=50%")).toEqual({ run: "50%" });
});

test.each(["span=x", "span=-1", "event=1e3", "event=", "zoom=400-100", "zoom=a-b", "zoom=", "elsewhere=1"])(
  "what nobody wrote by intention is left out: %s",
  (key) => {
    expect(parse(`#tb_steptime&p.tb_steptime.view=host&p.tb_steptime.${key}`)).toEqual({ view: "host" });
  },
);

test("a zoom is kept in whole nanoseconds", () => {
  expect(write("#tb_steptime", { zoom: { from: 1.4, to: 200.6 } })).toBe("#tb_steptime&p.tb_steptime.zoom=1-201");
});
