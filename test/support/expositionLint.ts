import type { ParsedFamily } from './expositionModel.ts';

type Rule = (family: ParsedFamily) => readonly string[];

const BASE_UNITS = ['amperes', 'bytes', 'celsius', 'grams', 'joules', 'kelvin', 'meters', 'metres', 'seconds', 'volts'];
const OTHER_UNITS: Readonly<Record<string, string>> = {
  ...{ minutes: 'seconds', hours: 'seconds', days: 'seconds', weeks: 'seconds' },
  ...{ fahrenheit: 'celsius', rankine: 'celsius', kelvins: 'celsius' },
  ...{ inches: 'meters', yards: 'meters', miles: 'meters' },
  ...{ bits: 'bytes', calories: 'joules', pounds: 'grams', ounces: 'grams' },
};
const PREFIXES =
  /^(?:pico|nano|micro|milli|centi|deci|deca|hecto|kilo|kibi|mega|mebi|mibi|giga|gibi|tera|tebi|peta|pebi)(?=.)/;
const ABBREVIATIONS = new Set(['s', 'ms', 'us', 'ns', 'sec', 'b', 'kb', 'mb', 'gb', 'tb', 'pb', 'm', 'h', 'd']);
const TARGET_LABELS =
  /^(?:type|region|zone|cluster|availability_zone|az|datacenter|dc|owner|customer|stage|service|environment|env|job|instance|__.*)$/;

/** The rules of `promtool check metrics`, but for "metric not unique": the parsers throw on that. */
const PROMLINT: readonly Rule[] = [
  ({ help }) => when(help === undefined || help === '', 'no help text'),
  ({ name }) => name.split('_').flatMap(unitComplaint),
  ({ name, type }) =>
    type === 'counter'
      ? when(!name.endsWith('_total'), 'counter metrics should have "_total" suffix')
      : when(name.endsWith('_total'), 'non-counter metrics should not have "_total" suffix'),
  ({ name, type, samples }) => [
    ...when(type !== 'histogram' && name.endsWith('_bucket'), 'non-histogram metrics should not have "_bucket" suffix'),
    ...when(!isDistribution(type) && /_(?:count|sum)$/.test(name), 'reserved suffix "_count" or "_sum"'),
    ...when(type !== 'histogram' && hasLabel(samples, 'le'), 'non-histogram metrics should not have "le" label'),
    ...when(
      type !== 'summary' && hasLabel(samples, 'quantile'),
      'non-summary metrics should not have "quantile" label',
    ),
  ],
  ({ name }) => {
    const named = /_(gauge|counter|histogram|summary|gauge_histogram)(?:_|$)/.exec(name.toLowerCase());
    return when(named !== null, `metric name should not include type '${named?.[1] ?? ''}'`);
  },
  ({ name }) => when(name.includes(':'), "metric names should not contain ':'"),
  ({ name, samples }) => {
    const names = [name, ...samples.flatMap(({ labels }) => Object.keys(labels))];
    return when(
      names.some((one) => /[a-z][A-Z]/.test(one)),
      "names should be 'snake_case' not 'camelCase'",
    );
  },
  ({ name }) =>
    when(
      name
        .split('_')
        .slice(1)
        .some((part) => ABBREVIATIONS.has(part)),
      'abbreviated unit',
    ),
];

/** What no version of promtool catches. */
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

/** Complaints of promlint's rules and of our own, as `family: complaint`; for the families of text 0.0.4. */
export function lint(families: readonly ParsedFamily[]): string[] {
  return [...PROMLINT, ...HOUSE_RULES].flatMap((rule) => {
    return families.flatMap((family) => rule(family).map((complaint) => `${family.name}: ${complaint}`));
  });
}

function when(condition: boolean, complaint: string): readonly string[] {
  return condition ? [complaint] : [];
}

function unitComplaint(part: string): readonly string[] {
  const bare = part.replace(PREFIXES, '');
  const base = OTHER_UNITS[part] ?? OTHER_UNITS[bare] ?? (BASE_UNITS.includes(bare) ? bare : undefined);
  return when(base !== undefined && base !== part, `use base unit "${base ?? ''}" instead of "${part}"`);
}

function isDistribution(type: string): boolean {
  return type === 'histogram' || type === 'summary';
}

function hasLabel(samples: ParsedFamily['samples'], label: string): boolean {
  return samples.some(({ labels }) => Object.hasOwn(labels, label));
}
