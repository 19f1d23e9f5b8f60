/**
 * TensorBoard's theme, which TensorBoard does not pass on: it is read from the class of its page, else from the
 * system's preference.
 */

const DARK = "dark-mode";

/** Keeps the class of this document's root up to date, and reports changes. Returns a function that stops it. */
export function followTheme(outer: Window, changed: () => void = () => {}): () => void {
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const dark = isDark(outer, system.matches);
    if (root.classList.contains(DARK) === dark) return;
    root.classList.toggle(DARK, dark);
    changed();
  };
  const observer = new MutationObserver(apply);
  if (outer !== window) observer.observe(outer.document.body, { attributes: true, attributeFilter: ["class"] });
  system.addEventListener("change", apply);
  apply();
  return () => {
    observer.disconnect();
    system.removeEventListener("change", apply);
  };
}

/** Inside TensorBoard, TensorBoard's own choice applies, whatever the system prefers. */
function isDark(outer: Window, system: boolean): boolean {
  return outer === window ? system : outer.document.body.classList.contains(DARK);
}

/** The width of a sheet less its margins, CSS px: the smaller one of A4 and letter. */
const SHEET_PX = 700;

/**
 * Prints the view without TensorBoard around it: the browser's own shortcut would take the outer page, with the frame
 * cut off. What is on the screen is printed with the same layout, in the light theme, scaled to the sheet. Returns a
 * function that stops it.
 */
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
