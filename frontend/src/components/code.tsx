import { CopyButton } from "./copy";

/** Something to type, with a button that copies it. */
export function Code({ text }: { text: string }) {
  return (
    <div class="code">
      <pre>{text}</pre>
      <CopyButton text={() => text} class="button low">
        Copy
      </CopyButton>
    </div>
  );
}
