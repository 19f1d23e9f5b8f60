/** The first stop of the Tab key: past the bar and the list of views. Seen while it has the focus. */

export const CONTENT = "content";

export function SkipLink() {
  const skip = (event: MouseEvent) => {
    event.preventDefault(); // the fragment of the address is TensorBoard's
    document.getElementById(CONTENT)?.focus();
  };
  return (
    <a class="skip button" href={`#${CONTENT}`} onClick={skip}>
      Skip to the content
    </a>
  );
}
