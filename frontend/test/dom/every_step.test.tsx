import { screen, within } from "@testing-library/preact";
import { describe, expect, test } from "vitest";
import type { JobSteps, StepBin } from "../../src/api.gen";
import { trendSpan, trendsPage } from "../fixtures/figures";
import { openTab, says } from "./fake_server";

const MS = 1e6;

const bin = (step: number, steps: number, mean_ms: number, longest_ms = mean_ms): StepBin => ({
  step,
  steps,
  end_ns: step * 1e9,
  mean_ns: mean_ms * MS,
  longest_ns: longest_ms * MS,
  wait_ns: null,
  collecting_ns: 0,
  rss_bytes: null,
  recorded: step === 40,
});

const TIMED: JobSteps = {
  workers: [
    {
      worker: "w",
      steps: 48_300,
      bins: [bin(0, 40, 100), bin(40, 10, 131), bin(50, 48_163, 100), bin(48_213, 1, 2_100), bin(48_214, 86, 100)],
      slow: [
        { step: 48_213, end_ns: 1, duration_ns: 2_100 * MS, wait_ns: null, collecting_ns: 1_900 * MS, off_cpu_ns: 0 },
      ],
      pace: { recorded_ns: 131 * MS, recorded: 10, plain_ns: 100 * MS, plain: 400, differ: true },
    },
  ],
  more: 0,
};

function timed(steps: JobSteps) {
  const server = says();
  server.trends = { kind: "ready", value: trendsPage([trendSpan({ run: "a", number: 1, first: 5, ms: [100, 110] })]) };
  server.jobSteps = () => ({ kind: "ready", value: steps });
  return server;
}

describe("every step of the job", () => {
  test("is drawn with its slow steps and what profiling costs", async () => {
    await openTab("view=trends", timed(TIMED));
    const picture = await screen.findByRole("slider", { name: /All 48.300.steps/ });
    expect(picture.querySelectorAll("circle.ring").length).toBeGreaterThan(0);
    const frame = picture.closest("figure, section, .picture") as HTMLElement;
    expect(within(frame).getByText(/profiled steps take 1.31 x as long/).textContent).toMatch(/1.slow step, ringed/);
  });

  test("is no picture where nothing was timed", async () => {
    await openTab("view=trends", timed({ workers: [], more: 0 }));
    await screen.findAllByRole("slider");
    expect(screen.queryByRole("slider", { name: /steps of the job/ })).toBeNull();
  });
});
