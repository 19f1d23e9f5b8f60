import { later, type Part } from "../lazy";

/** A part of the tab that is loaded together with the style sheets of the views. */
export const laterView = <T>(load: () => Promise<T>): Part<T> =>
  later(async () => {
    const [part] = await Promise.all([load(), import("./styles")]);
    return part;
  });
