import type { Labels } from '../../metrics/sample.ts';

/** A family as far as it decides what may differ. */
export interface ComparedFamily {
  readonly name: string;
  /** True: NerdGraph has it too. */
  readonly inNerdGraph: boolean;
}

/** The two values of one series; undefined where an interface does not have it. */
export interface Values {
  readonly rest: number | undefined;
  readonly nerdgraph: number | undefined;
}

/** What NerdGraph has as 0 for everything that reports, with or without a row. */
const ZERO_RULE = /_(?:non_)?web_requests_per_second$|_errors_per_second$|_error_ratio$/;
const ROLLING = /_rolling_|^newrelic_application_(?:hosts|instances)$/;
const OF_HOST = /^newrelic_host_/;

/**
 * Why two values may differ although both interfaces work (docs/migrating.md); undefined: nothing explains it.
 *
 * @param sharesName whether several hosts of the application have the name of this series' host
 */
export function expectedReason(
  { name, inNerdGraph }: ComparedFamily,
  { rest, nerdgraph }: Values,
  labels: Labels,
  sharesName: boolean,
): string | undefined {
  if (!inNerdGraph) return 'NerdGraph does not have this family';
  if (ROLLING.test(name)) return 'rolling values and numbers of hosts have another time base with each interface';
  if (sharesName && labels['host'] !== undefined) return 'several hosts share this name, which NerdGraph reads as one';
  if (nerdgraph === undefined && rest === 0) return 'REST keeps zeros of metrics that were collected once';
  if (rest === undefined && nerdgraph === 0 && ZERO_RULE.test(name)) {
    return 'NerdGraph has no row for nothing, which is read as 0 for whatever reports';
  }
  if (rest === undefined && OF_HOST.test(name)) return 'REST has no data of this metric for this host';
  return undefined;
}
