/** Labels depend on the vendor of the device that a job runs on. */

import { expect, test } from "vitest";
import { MEANINGS } from "./fixtures/meanings";

test("an AMD GPU has matrix cores", () => {
  const of = (vendor: string | null, accelerator: string) => MEANINGS.of({ vendor, accelerator });
  const titles = (vendor: string | null, accelerator: string) =>
    of(vendor, accelerator).views.map((view) => view.title);
  expect(of("amd", "GPU").viewTitle("tensor_cores")).toBe("Matrix cores");
  expect(of("amd", "GPU").metric("kernel_bin").label).toBe("Matrix cores");
  expect(titles("nvidia", "GPU")).toEqual(MEANINGS.views.map((view) => view.title));
});
