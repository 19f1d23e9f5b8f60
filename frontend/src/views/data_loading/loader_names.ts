/** The recorder counts loaders in its own way; what is shown is the name that the table of loaders has. */

import type { Recorded } from "../../api.gen";
import { sentence } from "../../format";

export interface LoaderNames {
  /** Whether a name needs to be said at all. */
  several: boolean;
  /** Of the loader with a recorder's number. */
  of(loader: number): string;
  /** Before what is said of one of several: "Training loader: worker 0". */
  before(loader: number, said: string): string;
  /** Loaders in the order in which they are shown. */
  place(loader: number): number;
}

export function loaderNames({ loaders, whose }: Pick<Recorded, "loaders" | "whose">): LoaderNames {
  const place = (loader: number) => loaders.findIndex((each) => each.loader === loader);
  const of = (loader: number) => sentence(loaders[place(loader)]!.label);
  return {
    several: whose !== null,
    of,
    place,
    before: (loader, said) =>
      whose === null ? said : `${of(loader)}: ${said.charAt(0).toLowerCase()}${said.slice(1)}`,
  };
}
