/** What is shown in place of a view that failed: on the server, or while it was drawn. */

import { Component, type ComponentChildren } from "preact";
import type { Problem } from "../api.gen";
import { CopyButton } from "../components/copy";
import { Countdown } from "../components/countdown";

interface FailedProps {
  title: string;
  problem: Problem;
  /** What else the report holds: where the figures are from. */
  about: string;
  /** When it is tried again by itself; null: only on a press. */
  retry_ms?: number | null;
  again(): void;
}

/** What went wrong, in which file, what to do. Other spans stay usable in the bar above. */
export function Failed({ title, problem, about, retry_ms = null, again }: FailedProps) {
  const report = () =>
    [title, problem.problem, problem.file, problem.hint, about].filter((line) => line !== "").join("\n");
  return (
    <>
      <h1 class="title">{title}</h1>
      <p class="quiet">
        {problem.problem}.
        {problem.file && (
          <>
            {" "}
            File: <code>{problem.file}</code>
          </>
        )}
      </p>
      <p class="quiet">
        {problem.hint}
        {retry_ms !== null && (
          <>
            {" "}
            <Countdown retry_ms={retry_ms} />
          </>
        )}
      </p>
      <p class="actions">
        <button class="button" onClick={again}>
          Try again
        </button>
        <CopyButton text={report}>Copy the report</CopyButton>
      </p>
    </>
  );
}

interface BoundaryProps {
  /** A new name tries again: another view or another span may well draw. */
  name: string;
  about: string;
  children: ComponentChildren;
}

interface BoundaryState {
  failed: Error | null;
  name: string;
}

/** A view that throws leaves the frame usable, and says what happened. */
export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = { failed: null, name: this.props.name };

  static override getDerivedStateFromProps(props: BoundaryProps, state: BoundaryState): BoundaryState | null {
    return props.name === state.name ? null : { failed: null, name: props.name };
  }

  override componentDidCatch(error: unknown): void {
    console.error(error);
    this.setState({ failed: error instanceof Error ? error : new Error(String(error)) });
  }

  override render() {
    const { failed } = this.state;
    if (!failed) return this.props.children;
    const problem = {
      problem: failed.message,
      file: "",
      hint: "This is a fault of Step Insights. Other views stay usable.",
    };
    const about = `${this.props.about}\n${failed.stack ?? ""}`;
    return (
      <div data-state="failed">
        <Failed
          title="This view could not be drawn."
          problem={problem}
          about={about}
          again={() => this.setState({ failed: null })}
        />
      </div>
    );
  }
}
