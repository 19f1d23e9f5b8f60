import { act, fireEvent, screen, waitFor } from "@testing-library/preact";
import { beforeEach, describe, expect, test } from "vitest";
import { keys, openTab, press } from "./fake_server";

beforeEach(() => {
  window.location.hash = "";
});

const heading = () => screen.findByRole("heading", { level: 1 });

describe("the address", () => {
  test("names the view that is shown, and a link to a view writes it", async () => {
    await openTab("view=host");
    expect(await screen.findByRole("link", { name: /^Host/, current: "page" })).toBeTruthy();
    press(/^Tensor cores/, "link");
    expect(await screen.findByText("Half runs on tensor cores")).toBeTruthy();
    expect(keys()).toEqual({ view: "tensor_cores" });
  });

  test("changed by hand or by the browser's back shows what it names", async () => {
    await openTab("view=overview");
    await heading();
    await act(async () => {
      window.location.hash = "#tb_steptime&p.tb_steptime.view=data_loading";
      window.dispatchEvent(new Event("hashchange"));
    });
    expect(await screen.findByText("Most of the wait leaves the GPU idle")).toBeTruthy();
  });

  test("another view is a step that Back undoes; what changes within one is not", async () => {
    await openTab("view=overview");
    const before = window.history.length;
    fireEvent.click(await screen.findByRole("button", { name: /^Kernel/ }));
    expect(window.history.length).toBe(before);
    press(/^Host/, "link");
    expect(window.history.length).toBe(before + 1);
    press(/^Host/, "link");
    expect(window.history.length).toBe(before + 1);
  });

  test("the title of the page says view and run, and is TensorBoard's own on another tab", async () => {
    document.title = "TensorBoard";
    await openTab("view=host&run=b");
    await waitFor(() => expect(document.title).toBe("Host · b · Step Insights"));
    await act(async () => {
      window.location.hash = "#scalars";
      window.dispatchEvent(new Event("hashchange"));
    });
    expect(document.title).toBe("TensorBoard");
  });

  test("keeps what others wrote in it", async () => {
    window.location.hash = "";
    await openTab("view=overview");
    window.location.hash += "&tagFilter=loss";
    press(/^Host/, "link");
    await waitFor(() => expect(window.location.hash).toContain("tagFilter=loss"));
    expect(window.location.hash.startsWith("#tb_steptime&")).toBe(true);
  });

  test("with an unknown view or step shows what there is", async () => {
    await openTab("view=nowhere&step=99&zoom=soon&span=-1");
    expect(await screen.findByText("A step takes long.")).toBeTruthy();
  });

  test("names the parts that a legend hides, and a press shows them again", async () => {
    await openTab("view=overview&off=data_loader");
    const button = await screen.findByRole("button", { name: /^Data loading/, pressed: false });
    fireEvent.click(button);
    expect(keys().off).toBeUndefined();
    fireEvent.click(screen.getByRole("button", { name: /^Kernel/ }));
    expect(keys().off).toEqual(new Set(["kernel"]));
  });

  test("names the span, and another run forgets the step of this one", async () => {
    const asked = await openTab("run=a&worker=worker0&span=2&step=6");
    await waitFor(() => expect(asked.log).toContain("view overview id-2"));
    press("Run a");
    fireEvent.click(await screen.findByRole("option", { name: /^b/ }));
    expect(keys()).toMatchObject({ run: "b", worker: "worker0", span: 3 });
    expect(keys().step).toBeUndefined();
    await waitFor(() => expect(asked.log).toContain("view overview id-3"));
  });

  test("a comparison asks for both spans", async () => {
    const asked = await openTab("run=a&span=2&with=b/worker0/3");
    await waitFor(() => expect(asked.log).toContain("view overview id-3"));
    expect(await screen.findAllByText("the same in b")).not.toHaveLength(0);
  });
});
