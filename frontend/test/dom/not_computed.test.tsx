/** A view whose analysis failed on a file says so in place of its figures. The other views are shown. */

import { fireEvent, screen } from "@testing-library/preact";
import { expect, test } from "vitest";
import { gpuPage } from "../fixtures/gpu";
import { plain, ready } from "../fixtures/pages";
import { openTab, says } from "./fake_server";

const WHY =
  "This view could not be computed, because its analysis failed on this file (OverflowError); the others stand.";

const figures = () => document.querySelectorAll("main svg, main table").length;

test.each([false, true])("figures of a view are shown unless it could not be computed: %s", async (gap) => {
  const server = says();
  const page = { ...gpuPage(), gap };
  server.views.gpu = ready({ ...page, headline: { ...page.headline, verdict: plain(WHY) } });
  await openTab("view=gpu", server);
  expect(await screen.findByText(WHY)).toBeTruthy();
  if (gap) expect(figures()).toBe(0);
  else expect(figures()).toBeGreaterThan(0);
  fireEvent.click(screen.getByRole("link", { name: /^Overview/ }));
  expect(await screen.findByText("A step takes long.")).toBeTruthy();
  expect(screen.queryByText(WHY)).toBeNull();
  expect(figures()).toBeGreaterThan(0);
});
