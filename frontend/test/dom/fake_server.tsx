/** The whole tab with a server that answers from memory. Each route's answer can be changed while the tab runs. */

import { act, fireEvent, render, screen, within } from "@testing-library/preact";
import { afterEach, beforeEach, vi } from "vitest";
import type { Address } from "../../src/address/keys";
import { openUrlStore } from "../../src/address/url";
import type {
  Catalogue,
  ChainPage,
  ComparePage,
  FlamePage,
  Index,
  JobSteps,
  JobTimeline,
  MemoryPage,
  PageOf,
  RankMap,
  RanksPage,
  Scalars,
  TrendSeries,
  TrendsPage,
  ViewId,
} from "../../src/api.gen";
import { App } from "../../src/frame/app";
import { meaningsOf } from "../../src/meanings";
import { type Answer, type Client, type LanesQuery, SILENT } from "../../src/server/client";
import { VIEWS } from "../../src/views";
import { CHAIN, COMPARED } from "../fixtures/compared";
import { coresPage, loaderPage, trendSpan, trendsPage } from "../fixtures/figures";
import { gpuPage } from "../fixtures/gpu";
import { hostPage } from "../fixtures/host";
import { CATALOGUE } from "../fixtures/meanings";
import { index, PAGE, ready, run, span } from "../fixtures/pages";

/** The server did not answer. */
export const GONE: Answer<never> = { kind: "gone", value: SILENT };

/** Each test of the file has a clock of its own, which also goes on by itself, so that answers arrive. */
export function letTimePass(): void {
  beforeEach(() => {
    vi.useFakeTimers({ shouldAdvanceTime: true });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
}

export const seconds = (count: number) => act(async () => void (await vi.advanceTimersByTimeAsync(1000 * count)));

export const main = () => document.querySelector("main")!;

/** The answers of the server. A test overwrites those that it is about. */
export interface Says {
  index: Answer<Index>;
  catalogue: Answer<Catalogue>;
  views: Partial<Record<ViewId, Answer<PageOf<ViewId>>>>;
  trends: Answer<TrendsPage>;
  scalars(tag: string | null): Answer<Scalars>;
  jobSteps(): Answer<JobSteps>;
  series?(metric: string): Answer<TrendSeries>;
  memory?: Answer<MemoryPage>;
  flame?: Answer<FlamePage>;
  ranks?: Answer<RanksPage>;
  rankMap?(metric: string): Answer<RankMap>;
  jobTimeline?(query: LanesQuery): Answer<JobTimeline>;
  compare: Answer<ComparePage>;
  chain: Answer<ChainPage>;
  /** How long the answers for views and the catalogue take. */
  slow_ms?: number;
  slow_trends_ms?: number;
}

const GPU = { id: "gpu", title: "GPU", tiles: [], share: "" };

/** All meanings that the pages below need. */
const ALL: Catalogue = {
  ...CATALOGUE,
  views: [...CATALOGUE.views, GPU],
};

export const MEANINGS = meaningsOf(ALL);

export function says(): Says {
  return {
    index: ready(index([run("a", [span(1), span(2)]), run("b", [span(3), span(4)])])),
    catalogue: ready(ALL),
    views: {
      overview: ready(PAGE),
      data_loading: ready(loaderPage()),
      tensor_cores: ready(coresPage()),
      gpu: ready(gpuPage()),
      host: ready(hostPage()),
    },
    scalars: () => ready({ tags: [], series: [] }),
    jobSteps: () => ready({ workers: [], more: 0 }),
    compare: ready(COMPARED),
    chain: ready(CHAIN),
    trends: ready(trendsPage([trendSpan({ run: "a", number: 1, first: 5, ms: [100, 110] })])),
  };
}

/** The requests in order, such as "view data_loading id-2", and the requests that were aborted. */
export interface Requests {
  log: string[];
  aborted: string[];
}

export function clientOf(server: Says, requests: Requests = { log: [], aborted: [] }): Client {
  const answer = async <T,>(route: string, value: Answer<T>): Promise<Answer<T>> => {
    requests.log.push(route);
    return value;
  };
  const slowly = async <T,>(
    route: string,
    value: Answer<T>,
    signal?: AbortSignal,
    slow_ms = server.slow_ms,
  ): Promise<Answer<T>> => {
    let answered = false;
    signal?.addEventListener("abort", () => answered || requests.aborted.push(route));
    if (slow_ms) await new Promise((resolve) => setTimeout(resolve, slow_ms));
    answered = true;
    return answer(route, value);
  };
  return {
    index: () => answer("index", server.index),
    catalogue: (signal) => slowly("catalogue", server.catalogue, signal),
    view: (id, view, signal) => slowly(`view ${view} ${id}`, (server.views[view] ?? GONE) as never, signal),
    trends: (_runs, _focus, signal) => slowly("trends", server.trends, signal, server.slow_trends_ms),
    series: (_runs, metric) => answer(`series ${metric}`, server.series?.(metric) ?? GONE),
    scalars: (_run, tag) => answer(`scalars ${tag}`, server.scalars(tag)),
    jobSteps: () => answer("job_steps", server.jobSteps()),
    timeline: () => answer("timeline", GONE),
    busy: () => answer("busy", GONE),
    memory: (_id, { device, at }) => answer(`memory ${device} ${at}`, server.memory ?? GONE),
    flame: (_id, { by, where }) => answer(`flame ${by} ${where}`, server.flame ?? GONE),
    search: () => answer("search", GONE),
    event: () => answer("event", GONE),
    ranks: (id, signal) => slowly(`ranks ${id}`, server.ranks ?? GONE, signal),
    rankMap: (_id, metric) => answer(`rank_map ${metric}`, server.rankMap?.(metric) ?? GONE),
    ...(server.jobTimeline && {
      jobTimeline: (_id: string, query: LanesQuery) =>
        answer(["job_timeline", query.step, query.visible?.from].filter(Boolean).join(" "), server.jobTimeline!(query)),
    }),
    compare: (base, candidate) => answer(`compare ${base} ${candidate}`, server.compare),
    chain: (runs, order) =>
      answer(["chain", ...runs, ...(order.length > 0 ? ["in", ...order] : [])].join(" "), server.chain),
    stepFile: (_id, step) => answer(`slice ${step}`, GONE),
    retry: (id) => answer(`retry ${id}`, GONE),
  };
}

/** Opens the tab with all its parts at an address such as "view=host&step=6". Requests to the server are logged. */
export async function openTab(address = "", server = says(), more: Partial<Client> = {}): Promise<Requests> {
  await Promise.all(Object.values(VIEWS).map(({ part }) => part.load()));
  const requests: Requests = { log: [], aborted: [] };
  const keys = address.split("&").filter((key) => key !== "");
  window.location.hash = `#tb_steptime${keys.map((key) => `&p.tb_steptime.${key}`).join("")}`;
  render(<App client={{ ...clientOf(server, requests), ...more }} url={openUrlStore(window)} />);
  await screen.findAllByRole("main");
  return requests;
}

/** The plugin's keys in the current address. */
export const keys = (): Address => ({ ...openUrlStore(window).read() });

export const press = (name: string | RegExp, role = "button"): void => {
  fireEvent.click(screen.getByRole(role, { name }));
};

/** The rows of a table as they read: cells between bars, with usual spaces before units. */
export const rowsOf = (table: string): string[] =>
  within(screen.getByRole("grid", { name: table }))
    .getAllByRole("row")
    .slice(1)
    .map((row) =>
      [...row.querySelectorAll("td")].map((cell) => cell.textContent!.replaceAll("\u00a0", " ").trim()).join("|"),
    );

/** What a picture that is a slider announces. */
export const valueText = (slider: Element): string => slider.getAttribute("aria-valuetext")!.replace(/\s/g, " ");
