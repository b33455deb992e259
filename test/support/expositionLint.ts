import type { ParsedFamily } from './expositionModel.ts';

const TARGET_LABELS =
  /^(?:type|region|zone|cluster|availability_zone|az|datacenter|dc|owner|customer|stage|service|environment|env|job|instance|__.*)$/;

/** Labels of targets that are ours in a family; the client library has a label `type`, which is not ours to rename. */
function isOurs(name: string, label: string): boolean {
  if (label === 'zone') return name.includes('_apdex_');
  // The region of the service that an account is in; `honor_labels` keeps it apart from a target's.
  return name.startsWith('nodejs_') || (label === 'region' && name === 'newrelic_exporter_account_info');
}

const labelsOf = ({ labels }: ParsedFamily['samples'][number]) => Object.keys(labels).filter((label) => label !== 'le');

/** What no version of promtool catches; the rest is its part, in test/real/scrape.test.ts. */
const HOUSE_RULES: readonly (readonly [complaint: string, isBroken: (family: ParsedFamily) => boolean])[] = [
  ['no known prefix', ({ name }) => !/^(?:newrelic|process|nodejs|probe)_/.test(name)],
  ['a ratio from 0 to 1 instead of percent', ({ name }) => name.split('_').includes('percent')],
  ['a rate per second instead', ({ name }) => /(?<!_api_budget_requests)_per_(?:minute|hour|day)(?:_|$)/.test(name)],
  [
    'a label clashes with labels of targets',
    ({ name, samples }) => samples.flatMap(labelsOf).some((label) => TARGET_LABELS.test(label) && !isOurs(name, label)),
  ],
  ['timestamps', ({ samples }) => samples.some(({ timestamp }) => timestamp !== undefined)],
  ['NaN', ({ samples }) => samples.some((sample) => Number.isNaN(sample.value))],
  [
    'label names differ between series',
    ({ samples }) => new Set(samples.map((s) => labelsOf(s).sort().join())).size > 1,
  ],
];

/** Complaints of our rules, as `family: complaint`; for the families of text 0.0.4. */
export function lint(families: readonly ParsedFamily[]): string[] {
  return HOUSE_RULES.flatMap(([complaint, isBroken]) => {
    return families.filter(isBroken).map(({ name }) => `${name}: ${complaint}`);
  });
}
