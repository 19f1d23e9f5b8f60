/** A part of the tab that is loaded when it is first needed, so that the first picture waits for no other view. */

export interface Part<T> {
  /** Null until it is loaded. */
  now(): T | null;
  /** After a failure the next call tries again. */
  load(): Promise<T>;
}

export const here = <T>(value: T): Part<T> => ({ now: () => value, load: async () => value });

export function later<T>(load: () => Promise<T>): Part<T> {
  let loaded: T | null = null;
  let underWay: Promise<T> | null = null;
  const begin = async () => {
    try {
      loaded = await load();
      return loaded;
    } finally {
      underWay = null;
    }
  };
  return {
    now: () => loaded,
    load: () => {
      underWay ??= loaded === null ? begin() : Promise.resolve(loaded);
      return underWay;
    },
  };
}
