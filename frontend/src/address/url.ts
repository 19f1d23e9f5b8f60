/**
 * The user's choices, kept in the address: `#tb_steptime&p.tb_steptime.view=trends&p.tb_steptime.span=…`.
 *
 * TensorBoard keeps keys of this form through tab changes and reloads. They are in the hash of the page around the
 * frame; where there is no such page (the bundle was opened by itself), in the page's own hash.
 */

import { type Address, type Changes, decode, encode } from "./keys";

const PLUGIN = "tb_steptime";
const PREFIX = `p.${PLUGIN}.`;

/** Where the user is. Changing one of these keys adds an entry that Back returns from; other keys change in place. */
const PLACES = ["all", "view", "run", "worker", "span", "steps", "with", "opened"] as const;

/** The plugin's keys in a hash. Keys of TensorBoard and of other plugins are ignored. */
export function parse(hash: string): Address {
  const ours = fields(hash).filter((field) => field.startsWith(PREFIX));
  return decode(ours.map((field) => entry(field.slice(PREFIX.length))));
}

/** Returns the hash with the changes made. Keys of others keep their place and spelling. */
export function write(hash: string, changes: Changes): string {
  const written = new Map(encode(changes));
  const others = fields(hash).filter((field) => !(field.startsWith(PREFIX) && written.has(keyOf(field))));
  const ours = [...written].flatMap(([key, value]) =>
    value === null ? [] : [`${PREFIX}${encodeURIComponent(key)}=${encodeURIComponent(value)}`],
  );
  const namesPlugin = others[0] !== undefined && !others[0].includes("=");
  return `#${[...(namesPlugin ? [] : [PLUGIN]), ...others, ...ours].join("&")}`;
}

/** The address of the page: reads it, changes it, and listens to changes (Back, a hand-edited address). */
export interface UrlStore {
  read(): Address;
  update(changes: Changes): void;
  /** Sets the title of the page while it shows this plugin; null restores the previous one. */
  entitle(title: string | null): void;
  /** The whole address with changes made, to be shared or opened elsewhere. */
  address(changes?: Changes): string;
  listen(changed: () => void): () => void;
}

export function openUrlStore(page: Window = outerPage()): UrlStore {
  const listeners = new Set<() => void>();
  const before = page.document.title;
  let title: string | null = null;
  const showTitle = () => {
    page.document.title = title !== null && isShown(page) ? title : before;
  };
  const notify = () => {
    showTitle();
    for (const changed of listeners) changed();
  };
  page.addEventListener("hashchange", notify);
  window.addEventListener("pagehide", () => page.removeEventListener("hashchange", notify));
  return {
    read: () => parse(page.location.hash),
    update(changes) {
      const hash = write(page.location.hash, changes);
      if (hash === page.location.hash) return;
      if (isElsewhere(page.location.hash, hash)) page.history.pushState(page.history.state, "", hash);
      else page.history.replaceState(page.history.state, "", hash);
      notify();
    },
    entitle(wanted) {
      title = wanted;
      showTitle();
    },
    address(changes = {}) {
      const { href, hash } = page.location;
      return href.slice(0, href.length - hash.length).replace(/#$/, "") + write(hash, changes);
    },
    listen(changed) {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
  };
}

/** Where the hash starts with another plugin's name, that plugin's tab is shown and this frame is hidden. */
export function isShown(page: Window): boolean {
  const [first] = fields(page.location.hash);
  return first === undefined || first.includes("=") || first === PLUGIN;
}

function isElsewhere(before: string, after: string): boolean {
  const [from, to] = [parse(before), parse(after)];
  return PLACES.some((key) => from[key] !== to[key]);
}

/** The page around the frame, where it may be read; never more than one level up. */
export function outerPage(): Window {
  try {
    void window.parent.location.hash;
    return window.parent;
  } catch {
    return window; // framed by a page of another origin, such as a notebook's proxy
  }
}

function fields(hash: string): string[] {
  return hash
    .replace(/^#/, "")
    .split("&")
    .filter((field) => field !== "");
}

const keyOf = (field: string): string => entry(field.slice(PREFIX.length))[0];

function entry(field: string): [key: string, value: string] {
  const at = field.indexOf("=");
  return at < 0 ? [decoded(field), ""] : [decoded(field.slice(0, at)), decoded(field.slice(at + 1))];
}

/** A hand-edited address may contain a lone percent sign, which is kept as it is. */
function decoded(written: string): string {
  try {
    return decodeURIComponent(written);
  } catch {
    return written;
  }
}
