import type { AccountStatus, ApplicationView, EntityStatus } from '../dependencies.ts';
import { breakdownKey, type Breakdown } from './breakdown.ts';

/** An application as the status page lists it. */
export interface ApplicationRow {
  readonly account: string;
  readonly application: ApplicationView;
  readonly breakdown: Breakdown | undefined;
  /** Why there is no breakdown; undefined where there is one. */
  readonly absence: string | undefined;
}

/** Every known application, the slowest first, then those without a breakdown by name. */
export function applicationRows(
  accounts: readonly AccountStatus[],
  breakdowns: ReadonlyMap<string, Breakdown>,
): ApplicationRow[] {
  const rows = accounts.flatMap(({ name, applications = [], entities }) => {
    const work = new Map(
      entities.filter(({ group }) => group === 'application_metrics').map((entity) => [entity.applicationId, entity]),
    );
    return applications.map((application): ApplicationRow => {
      const breakdown = breakdowns.get(breakdownKey(name, application.id));
      const shown = breakdown !== undefined && breakdown.parts.length > 0 ? breakdown : undefined;
      const absence = shown === undefined ? whyAbsent(application, work.get(application.id)) : undefined;
      return { account: name, application, breakdown: shown, absence };
    });
  });
  return rows.toSorted(
    (a, b) =>
      (b.breakdown?.responseTime ?? -1) - (a.breakdown?.responseTime ?? -1) ||
      compare(a.application.name, b.application.name) ||
      a.application.id - b.application.id,
  );
}

/** Applications whose name, account or id has the text, whatever the case. */
export function search(rows: readonly ApplicationRow[], text: string): ApplicationRow[] {
  const wanted = text.trim().toLowerCase();
  return rows.filter(({ account, application }) =>
    [application.name, account, String(application.id)].some((value) => value.toLowerCase().includes(wanted)),
  );
}

function whyAbsent(application: ApplicationView, work: EntityStatus | undefined): string {
  if (!application.reporting) return 'it does not report, so no metric data are read.';
  if (work === undefined) return 'its metric data are not read.';
  if (work.state === 'missing') return work.problem ?? 'its metric data have not been read yet.';
  return 'it had no web transactions in the window.';
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
