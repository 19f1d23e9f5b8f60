import { Component, type ComponentChildren } from "preact";
import { Failed } from "./failed";

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
