/** Where a kernel is launched from: op, module and line lead to the table of kernels by each. */

import type { KernelDetail, LaunchSite } from "../../api.gen";
import { count, DASH, ns } from "../../format";
import type { Tab } from "../props";
import type { Grouping } from "./groups";

export function LaunchSites({ sites, tab }: { sites: KernelDetail["sites"]; tab: Tab }) {
  if (!sites || sites.length === 0) return null;
  const lead = (by: Grouping["id"], kernel: string) => tab.update({ by, kernel, opened: null });
  return (
    <section class="picture">
      <h2>Where it is launched</h2>
      <table class="data launch-sites">
        <thead>
          <tr>
            <th>Op</th>
            <th>Module</th>
            <th>Line</th>
            <th class="num">Launches</th>
            <th class="num">Total</th>
          </tr>
        </thead>
        <tbody>
          {sites.map((site) => (
            <tr key={keyOf(site)}>
              <td>{site.op === null ? DASH : <Lead name={site.op} act={() => lead("name,op", site.op!)} />}</td>
              <td>
                {site.module === null ? DASH : <Lead name={site.module} act={() => lead("module", site.module!)} />}
              </td>
              <td>{site.source ?? DASH}</td>
              <td class="num">{count(site.count)}</td>
              <td class="num">{ns(site.total_ns)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {sites.every((site) => site.source === null) && (
        <p class="quiet small aside">with_stack=True records modules and lines.</p>
      )}
    </section>
  );
}

const keyOf = ({ op, module, source }: LaunchSite): string => `${op}\n${module}\n${source}`;

function Lead({ name, act }: { name: string; act(): void }) {
  return (
    <button class="link" onClick={act}>
      {name}
    </button>
  );
}
