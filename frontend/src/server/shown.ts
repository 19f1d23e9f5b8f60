/** Whether anybody can see the tab: nothing asks the server while nobody can. */

/** TensorBoard hides a tab by giving its frame no height. */
export const isHidden = (): boolean => document.visibilityState === "hidden" || window.innerHeight === 0;

export interface Surroundings {
  hidden(): boolean;
  /** Calls when the tab was shown or hidden, until the function that it gives back is called. */
  listen(changed: () => void): () => void;
}

export const browser: Surroundings = {
  hidden: isHidden,
  listen(notify) {
    let was = isHidden();
    const changed = () => {
      const now = isHidden();
      if (now !== was) notify();
      was = now;
    };
    document.addEventListener("visibilitychange", changed);
    window.addEventListener("resize", changed);
    return () => {
      document.removeEventListener("visibilitychange", changed);
      window.removeEventListener("resize", changed);
    };
  },
};
