/** Where a kernel is launched from: op, module and line lead to the table of kernels by each. */

import type { KernelDetail, LaunchSite, Phrase } from "../../api.gen";
import { Sentence } from "../../components/sentence";
import { count, DASH, ns } from "../../format";
import type { Tab } from "../props";
import { type Grouping, quoted } from "./groups";

interface LaunchSitesProps {
  sites: KernelDetail["sites"];
  /** What adds lines, where none are recorded. */
  noLines: Phrase | undefined;
  tab: Tab;
}

export function LaunchSites({ sites, noLines, tab }: LaunchSitesProps) {
  if (!sites || sites.length === 0) return null;
  const lead = (by: Grouping["id"], name: string) => tab.update({ by, kernel: quoted(name), opened: null });
  return (
    <section class="picture">
      <div class="head">
        <h2>Where it is launched</h2>
      </div>
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
              <td>
                {site.source === null ? DASH : <Lead name={site.source} act={() => lead("line", site.source!)} />}
              </td>
              <td class="num">{count(site.count)}</td>
              <td class="num">{ns(site.total_ns)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {noLines && (
        <p class="quiet small aside">
          <Sentence phrase={noLines} />
        </p>
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
