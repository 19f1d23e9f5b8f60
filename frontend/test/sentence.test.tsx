import { h } from "preact";
import { render } from "preact-render-to-string";
import { expect, test } from "vitest";
import { Sentence } from "../src/components/sentence";

const NAME = "sm80_xmma_wgrad_implicit_gemm_indexed_f32f32_f32f32_f32_nhwckrsc_nchw_tilesize128x128x16";

const drawn = (name: string) =>
  render(
    h(Sentence, {
      phrase: { template: "Kernels such as {name} fill little.", values: { name: { value: name, unit: "text" } } },
    }),
  );

test("a long name is shortened in the middle and whole on hover", () => {
  const html = drawn(NAME);
  expect(html).toContain(`data-hint="${NAME}"`);
  expect(html.replace(/<[^>]*>/g, "")).toHaveLength("Kernels such as ".length + 48 + " fill little.".length);
  expect(html.replace(/<[^>]*>/g, "").slice(16, 64)).toMatch(/^sm80_xmma\w*…\w*tilesize128x128x16$/);
});

test("what a sentence's own words have in backticks is code", () => {
  const phrase = { template: "Use `no_grad` [where `eval` runs].", values: {} };
  expect(render(h(Sentence, { phrase }))).toBe(
    "Use <code>no_grad</code> <b>where </b><b><code>eval</code></b><b> runs</b>.",
  );
});

test("names that fit stand as they are", () => {
  expect(drawn("volta_sgemm_64x64_nt")).toBe("Kernels such as volta_sgemm_64x64_nt fill little.");
});
