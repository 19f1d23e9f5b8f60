// @vitest-environment happy-dom
import { render } from "@testing-library/preact";
import { expect, test } from "vitest";
import type { DecidingPath } from "../../src/api.gen";
import { sentence } from "../../src/phrase";
import { jobFirst } from "../../src/views/overview/job_first";
import { Overview } from "../../src/views/overview/overview";
import { PAGE, plain, TAB } from "../fixtures/pages";
import { JOB, ranksPage } from "../fixtures/ranks";

const CARD = { ...PAGE.insights[0]!, title: plain("Give all ranks cores") };
const OF_JOB = { insights: [CARD], do_first: plain("Give all ranks cores: up to 38 ms a step.") };

test("a job with a card leads, and says what to do and where it is shown", () => {
  const headline = jobFirst(ranksPage(OF_JOB))!;
  expect(sentence(headline.verdict)).toBe("Rank 1 makes the others wait.");
  expect(sentence(headline.action!)).toBe("Give all ranks cores: up to 38 ms a step.");
  expect(headline.view).toBeNull(); // the card leads there
});

test("without a card, without a second rank and before the job is read the rank's own step comes first", () => {
  expect([ranksPage(), ranksPage({ ...OF_JOB, job: null }), null].map(jobFirst)).toEqual([null, null, null]);
});

test.each([true, false])("the job's sentence is said once, as is the rank's (job leads: %s)", (leads) => {
  const path = { step_ns: 100e6, work_ns: 60e6, transfer_ns: 0, ranks: [{ rank: 1, late_ns: 40e6 }] } as DecidingPath;
  const job = ranksPage({ job: { ...JOB, path }, ...(leads && OF_JOB) });
  render(<Overview page={PAGE} tab={TAB} compared={null} job={job} />);
  const text = document.body.textContent!;
  expect(text.includes("Rank 1 makes the others wait.")).toBe(!leads);
  expect(text.includes("This rank aloneA step takes long.")).toBe(leads);
});

test("the sum of the rank's own gains is not said of the job's", () => {
  const page = { ...PAGE, tried: null, insights_remark: plain("the gains add up to 9 ms") };
  const { rerender } = render(<Overview page={page} tab={TAB} compared={null} />);
  expect(document.body.textContent).toContain("the gains add up to 9 ms");
  rerender(<Overview page={page} tab={TAB} compared={null} job={ranksPage(OF_JOB)} />);
  expect(document.body.textContent).not.toContain("the gains add up to 9 ms");
});

test("the job's card comes before those of the rank, and both before the rank's own bar", () => {
  render(
    <Overview
      page={PAGE}
      tab={TAB}
      compared={null}
      job={ranksPage({ ...OF_JOB, insights: [{ ...CARD, id: "late" }] })}
    />,
  );
  const cards = [...document.querySelectorAll<HTMLElement>("[data-insight]")];
  expect(cards.map((card) => card.dataset.insight)).toEqual(["late", ...PAGE.insights.map(({ id }) => id)]);
  expect(cards.map((card) => card.classList.contains("folded")).indexOf(false)).toBe(0);
  const own = document.querySelector(".own-step")!;
  expect(cards[0]!.compareDocumentPosition(own) & Node.DOCUMENT_POSITION_FOLLOWING).toBeTruthy();
});

test("a rank's card that asks which rank is late is left out where the job has compared the ranks", () => {
  const asks = { ...CARD, id: "exposed_communication", asks_ranks: true, gain_ns: 1e12 };
  const page = { ...PAGE, insights: [asks, ...PAGE.insights] };
  const ids = () => [...document.querySelectorAll<HTMLElement>("[data-insight]")].map((card) => card.dataset.insight);
  const { rerender } = render(<Overview page={page} tab={TAB} compared={null} />);
  expect(ids()).toContain("exposed_communication");
  rerender(<Overview page={page} tab={TAB} compared={null} job={ranksPage(OF_JOB)} />);
  expect(ids()).toEqual([CARD.id, ...PAGE.insights.map(({ id }) => id)]);
  expect(document.body.textContent).not.toContain("Could be"); // the step after a card that is not shown
});
