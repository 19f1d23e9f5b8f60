import { render, screen } from "@testing-library/preact";
import { expect, test } from "vitest";
import { piecesOf, Sentence, Terms, Words } from "../../src/components/sentence";

const TERMS = [
  { words: ["starved", "starves"], meaning: "Launched too late.", views: ["host"] },
  { words: ["CUDA graphs", "CUDA graph"], meaning: "Launched by one call.", views: [] },
];
const explained = (text: string) =>
  piecesOf(text, TERMS).flatMap((piece) => (piece.meaning ? [`${piece.text}: ${piece.meaning}`] : []));

test("a term is explained where it first stands, in any of its forms and as a whole word", () => {
  expect(explained("98 % of launches are starved, and the GPU starves.")).toEqual(["starved: Launched too late."]);
  expect(explained("Starved: launch CUDA graphs.")).toEqual([
    "Starved: Launched too late.",
    "CUDA graphs: Launched by one call.",
  ]);
  expect(explained("unstarved starved-launches mystarves")).toEqual([]);
  expect(piecesOf("starved", TERMS).map(({ text }) => text)).toEqual(["", "starved", ""]);
});

test("what the heads of a view's columns mean is one press away, without a pointer", () => {
  const { container } = render(
    <Terms.Provider value={TERMS}>
      <Words view="host" />
    </Terms.Provider>,
  );
  expect(container.querySelectorAll("dl > div")).toHaveLength(1);
  expect(container.textContent).toBe("What the words meanStarvedLaunched too late.");
  expect(
    render(
      <Terms.Provider value={TERMS}>
        <Words view="gpu" />
      </Terms.Provider>,
    ).container.textContent,
  ).toBe("");
});

test("a sentence explains its terms where it is asked to, and never within code", () => {
  const phrase = { template: "{code} is [starved]", values: { code: { value: "starves()", unit: "code" as const } } };
  render(
    <Terms.Provider value={TERMS}>
      <p>
        <Sentence phrase={phrase} terms />
      </p>
      <p>
        <Sentence phrase={phrase} />
      </p>
    </Terms.Provider>,
  );
  const terms = [...document.querySelectorAll(".term")];
  expect(terms.map((term) => term.getAttribute("data-hint"))).toEqual(["Launched too late."]);
  expect(terms[0]!.textContent).toBe("starved");
  expect((terms[0] as HTMLElement).tabIndex).toBe(0);
  expect(screen.getAllByText("starves()")).toHaveLength(2);
});
