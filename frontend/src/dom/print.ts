/**
 * Prints the view without TensorBoard around it: the browser's own shortcut would take the outer page, with the frame
 * cut off. What is on the screen is printed with the same layout, in the light theme, scaled to the sheet.
 */

/** The width of a sheet less its margins, CSS px: the smaller one of A4 and letter. */
const SHEET_PX = 700;

const DARK = "dark-mode";

/** Returns a function that stops it. */
export function printView(): () => void {
  const root = document.documentElement;
  let dark = false;
  const before = () => {
    const width = document.querySelector("main [data-view]")?.clientWidth || SHEET_PX;
    root.style.setProperty("--print-width", `${width}px`);
    root.style.setProperty("--print-zoom", String(Math.min(1, SHEET_PX / Math.max(1, width))));
    dark = root.classList.contains(DARK);
    root.classList.remove(DARK);
  };
  const after = () => {
    root.style.removeProperty("--print-width");
    root.style.removeProperty("--print-zoom");
    root.classList.toggle(DARK, dark);
  };
  const typed = (event: KeyboardEvent) => {
    if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || event.key.toLowerCase() !== "p") return;
    event.preventDefault();
    window.print();
  };
  window.addEventListener("beforeprint", before);
  window.addEventListener("afterprint", after);
  document.addEventListener("keydown", typed);
  return () => {
    window.removeEventListener("beforeprint", before);
    window.removeEventListener("afterprint", after);
    document.removeEventListener("keydown", typed);
  };
}
