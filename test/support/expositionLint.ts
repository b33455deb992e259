import type { ParsedFamily } from './expositionModel.ts';

type Rule = (family: ParsedFamily) => readonly string[];

const TARGET_LABELS =
  /^(?:type|region|zone|cluster|availability_zone|az|datacenter|dc|owner|customer|stage|service|environment|env|job|instance|__.*)$/;

/** What no version of promtool catches; the rest is its part, in test/real/scrape.test.ts. */
const HOUSE_RULES: readonly Rule[] = [
  ({ name }) => when(!/^(?:newrelic|process|nodejs|probe)_/.test(name), 'no known prefix'),
  ({ name }) => when(name.split('_').includes('percent'), 'a ratio from 0 to 1 instead of percent'),
  ({ name }) => {
    const perMinute = /_per_(?:minute|hour|day)(?:_|$)/.test(name);
    return when(perMinute && name !== 'newrelic_exporter_api_budget_requests_per_minute', 'a rate per second instead');
  },
  ({ name, samples }) => {
    const isZone = (label: string) => label === 'zone' && name.includes('_apdex_');
    // The region of the service that an account is in; `honor_labels` keeps it apart from a target's.
    const isRegion = (label: string) => label === 'region' && name === 'newrelic_exporter_account_info';
    const clashing = samples
      .flatMap(({ labels }) => Object.keys(labels))
      .find((l) => TARGET_LABELS.test(l) && !isZone(l) && !isRegion(l));
    // The client library has a label `type`; it is not ours to rename.
    return when(
      clashing !== undefined && !name.startsWith('nodejs_'),
      `label ${clashing ?? ''} clashes with labels of targets`,
    );
  },
  ({ samples }) =>
    when(
      samples.some(({ timestamp }) => timestamp !== undefined),
      'timestamps',
    ),
  ({ samples }) =>
    when(
      samples.some((sample) => Number.isNaN(sample.value)),
      'NaN',
    ),
  ({ samples }) => {
    const shapes = samples.map(({ labels }) => {
      return Object.keys(labels)
        .filter((label) => label !== 'le')
        .sort()
        .join();
    });
    return when(new Set(shapes).size > 1, 'label names differ between series');
  },
];

/** Complaints of our rules, as `family: complaint`; for the families of text 0.0.4. */
export function lint(families: readonly ParsedFamily[]): string[] {
  return HOUSE_RULES.flatMap((rule) => {
    return families.flatMap((family) => rule(family).map((complaint) => `${family.name}: ${complaint}`));
  });
}

function when(condition: boolean, complaint: string): readonly string[] {
  return condition ? [complaint] : [];
}
