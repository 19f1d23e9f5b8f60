import { screen, waitFor, within } from "@testing-library/preact";
import { describe, expect, test } from "vitest";
import type { PageOf } from "../../src/api.gen";
import { HEAD, PAGE } from "../fixtures/pages";
import { keys, openTab, press, says } from "./fake_server";

const VIEWS = ["overview", "data_loading", "tensor_cores", "gpu", "host", "timeline"] as const;

const MS = 1_000_000;

const TIMELINE = {
  ...PAGE,
  head: HEAD,
  result: { first_ns: 0, last_ns: 10 * MS, steps: [{ name: "5", start_ns: 0, end_ns: 10 * MS }] },
} as unknown as PageOf<"timeline">;

const bar = () => screen.findByRole("region", { name: "Comparison" });

describe("compare with", () => {
  test.each(VIEWS)("%s asks for both spans and names both", async (view) => {
    const server = says();
    server.views.timeline = { kind: "ready", value: TIMELINE };
    const asked = await openTab(`view=${view}&run=a&span=2&with=b/worker0/3`, server);
    await waitFor(() => expect(asked.log).toEqual(expect.arrayContaining([`view ${view} id-2`, `view ${view} id-3`])));
    await waitFor(async () =>
      expect((await bar()).textContent).toContain("a (span 2) compared with b (span 3). First"),
    );
  });

  test("swaps the two, and ends", async () => {
    await openTab("run=a&span=2&with=b/worker0/3");
    await bar();
    press("Swap");
    expect(keys()).toMatchObject({ run: "b", span: 3, with: "a/worker0/2" });
    await waitFor(async () => expect((await bar()).textContent).toContain("b (span 3) compared with a (span 2)"));
    press("End the comparison");
    expect(keys().with).toBeUndefined();
    expect(screen.queryByRole("region", { name: "Comparison" })).toBeNull();
  });

  test("says what makes two spans unlike, and each part of the difference", async () => {
    const server = says();
    server.views.overview = { kind: "ready", value: PAGE };
    await openTab("run=a&span=2&with=b/worker0/3", server);
    const table = await screen.findByRole("grid", { name: /^Parts of the mean step of a against b/ });
    expect(within(table).getAllByRole("row").at(-1)!.textContent).toContain("Step");
    expect(screen.queryByText("These two are not alike.")).toBeNull();
  });

  test("the Timeline says why it draws one span, and leads to the same step of the other", async () => {
    const server = says();
    server.views.timeline = { kind: "ready", value: TIMELINE };
    await openTab("view=timeline&run=a&span=2&with=b/worker0/3", server);
    press(await screen.findByRole("button", { name: /^Open step .* of b$/ }).then(({ textContent }) => textContent!));
    expect(keys()).toMatchObject({ view: "timeline", run: "b", span: 3, with: "a/worker0/2" });
  });
});
