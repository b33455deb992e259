import type { AccountView } from './accountView.ts';
import { ALL_KINDS, KINDS, type Kind, type Outcome } from './faultCases.ts';

/** The application whose calls are struck, and one whose calls are not. */
export const VICTIM = { app_id: '1000001' };
export const WITNESS = { app_id: '1000002' };

/** A family that is there as long as the calls of a kind succeed, for the victim and for the witness. */
const FAMILY: Readonly<Record<Kind, string>> = {
  applications: 'newrelic_application_info',
  key_transactions: 'newrelic_key_transaction_info',
  hosts: 'newrelic_host_info',
  metric_names: 'newrelic_application_component_time_seconds',
  metric_data: 'newrelic_application_memory_used_bytes',
};

/** Complaints: what is wrong with an answer, in words. */
class Complaints {
  readonly list: string[] = [];

  expect(what: string, actual: unknown, wanted: unknown): void {
    if (actual !== wanted) this.list.push(`${what} is ${String(actual)} instead of ${String(wanted)}`);
  }

  atLeastOne(what: string, actual: number): void {
    if (!(actual >= 1)) this.list.push(`${what} is ${actual} instead of 1 or more`);
  }
}

/** What must be true of an account whose calls of a kind are struck from the start. */
export function complaintsAtStart(view: AccountView, kind: Kind, outcome: Outcome): string[] {
  const complaints = new Complaints();
  const { group, endpoint } = KINDS[kind];
  common(complaints, view);
  if (outcome.kind === 'pauses') {
    complaints.atLeastOne(`failures (${outcome.reason})`, pausing(view, outcome.reason));
  } else if (outcome.kind === 'fails') {
    complaints.atLeastOne(`failures (${outcome.reason})`, view.failures({ endpoint, reason: outcome.reason }));
    complaints.expect('up', view.up, kind === 'applications' ? 0 : 1);
    complaints.expect(`success of ${group}`, view.success(group), 0);
    complaints.atLeastOne(`missing of ${group}`, view.entities('missing', group));
    complaints.expect('the family of the failed call', view.has(FAMILY[kind], ofVictim(kind)), false);
  } else {
    withoutFailure(complaints, view, kind, outcome);
  }
  others(complaints, view, kind, outcome);
  return complaints.list;
}

/** What must be true of an account that has held everything since before its calls of a kind were struck. */
export function complaintsWhileHeld(view: AccountView, before: AccountView, kind: Kind, outcome: Outcome): string[] {
  const complaints = new Complaints();
  const { group, endpoint } = KINDS[kind];
  common(complaints, view);
  if (outcome.kind === 'pauses') {
    const fresh = pausing(view, outcome.reason) - pausing(before, outcome.reason);
    complaints.atLeastOne(`new failures (${outcome.reason})`, fresh);
  } else if (outcome.kind === 'fails') {
    const { reason } = outcome;
    const fresh = view.failures({ endpoint, reason }) - before.failures({ endpoint, reason });
    complaints.atLeastOne(`new failures (${reason})`, fresh);
    complaints.expect('up', view.up, kind === 'applications' ? 0 : 1);
    complaints.expect(`success of ${group}`, view.success(group), 0);
    complaints.atLeastOne(`stale of ${group}`, view.entities('stale', group));
    complaints.expect('missing', view.entities('missing'), 0);
    const held = before.has(FAMILY[kind], ofVictim(kind));
    if (held) complaints.expect('the last good values', view.has(FAMILY[kind], ofVictim(kind)), true);
  } else {
    withoutFailure(complaints, view, kind, outcome);
  }
  others(complaints, view, kind, outcome);
  return complaints.list;
}

/** What must be true of any account once nothing is struck any more. */
export function complaintsWhenHealed(view: AccountView): string[] {
  const complaints = new Complaints();
  common(complaints, view);
  complaints.expect('up', view.up, 1);
  for (const { group } of Object.values(KINDS)) complaints.expect(`success of ${group}`, view.success(group), 1);
  complaints.expect('missing', view.entities('missing'), 0);
  complaints.expect('stale', view.entities('stale'), 0);
  for (const kind of ALL_KINDS) {
    // What is calculated with the names comes back with the next window, which may not be there yet.
    const labels = kind === 'metric_names' ? {} : ofVictim(kind);
    complaints.expect(FAMILY[kind], view.has(FAMILY[kind], labels), true);
  }
  for (const application of [VICTIM, WITNESS]) {
    complaints.expect(`memory of ${application.app_id}`, view.has(FAMILY.metric_data, application), true);
  }
  return complaints.list;
}

/** Of any endpoint: metric data of the application's hosts are struck by the same rule, and may be read first. */
function pausing(view: AccountView, reason: string): number {
  return view.failures({ reason });
}

function ofVictim(kind: Kind): Readonly<Record<string, string>> {
  return kind === 'applications' || kind === 'key_transactions' ? {} : VICTIM;
}

function common(complaints: Complaints, view: AccountView): void {
  complaints.expect('series that are not finite', view.notFinite().length, 0);
}

function withoutFailure(complaints: Complaints, view: AccountView, kind: Kind, outcome: Outcome): void {
  const { group, endpoint } = KINDS[kind];
  const left = view.failures({ endpoint, reason: 'invalid_response' });
  if (outcome.kind === 'leaves_out') complaints.atLeastOne('what was left out', left);
  // A slow machine may run into timeouts of its own.
  const others = view.failures() - view.failures({ reason: 'timeout' });
  if (outcome.kind === 'harmless') complaints.expect('failures', others, 0);
  complaints.expect('up', view.up, 1);
  complaints.expect(`success of ${group}`, view.success(group), 1);
  complaints.expect('missing', view.entities('missing'), 0);
}

/** Entities that were not struck are unaffected. */
function others(complaints: Complaints, view: AccountView, kind: Kind, outcome: Outcome): void {
  if (outcome.kind === 'pauses' || (kind === 'applications' && outcome.kind === 'fails')) return;
  // A 401 anywhere stops the whole account.
  if (outcome.kind === 'fails' && outcome.reason === 'auth') return;
  const families = Object.values(FAMILY).filter((family) => family !== FAMILY.applications);
  for (const family of kind === 'applications' ? [] : families) {
    if (family === FAMILY.key_transactions) {
      const expected = kind === 'key_transactions' && outcome.kind === 'fails' ? undefined : true;
      if (expected !== undefined) complaints.expect(family, view.has(family), expected);
      continue;
    }
    complaints.expect(`${family} of the witness`, view.has(family, WITNESS), true);
  }
}
