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

/** What else is known about the entity of a series. */
export interface Circumstances {
  /** True: several hosts of the application have the name of this series' host. */
  readonly sharesName: boolean;
  /** The values of the entity's other series, by family. */
  readonly others: (family: string) => readonly Values[];
}

/** What NerdGraph has as 0 for everything that reports, with or without a row. */
const ZERO_RULE = /_(?:non_)?web_requests_per_second$|_errors_per_second$|_error_ratio$/;
const ROLLING = /_rolling_|^newrelic_application_(?:hosts|instances)$/;
const OF_HOST = /^newrelic_host_/;
const REPORTING = /_reporting$/;
const APDEX_THRESHOLD = /_apdex_threshold_seconds$/;

/** Families of hosts that are calculated from parts, and the family that shows whether an interface has those parts. */
const PARTS: Readonly<Record<string, string>> = {
  newrelic_host_response_time_seconds: 'newrelic_host_queue_time_seconds',
  newrelic_host_total_time_seconds: 'newrelic_host_component_time_seconds',
};

const NO_HOST_DATA = 'REST has no data of this metric for this host';
const KEPT_ZEROS = 'REST keeps zeros of metrics that were collected once';

/**
 * Why two values may differ although both interfaces work (docs/migrating.md, "From REST to NerdGraph"); undefined:
 * nothing explains it.
 */
export function expectedReason(
  { name, inNerdGraph }: ComparedFamily,
  { rest, nerdgraph }: Values,
  labels: Labels,
  { sharesName, others }: Circumstances,
): string | undefined {
  if (!inNerdGraph) return 'NerdGraph does not have this family';
  if (ROLLING.test(name)) return 'rolling values and numbers of hosts have another time base with each interface';
  if (sharesName && labels['host'] !== undefined) return 'several hosts share this name, which NerdGraph reads as one';
  if (nerdgraph === undefined) return rest === 0 || isThresholdOfNothing(name, others) ? KEPT_ZEROS : undefined;
  if (rest === undefined) return onlyNerdGraph(name, nerdgraph);
  const part = PARTS[name];
  const lacksParts = part !== undefined && others(part).some((values) => values.rest === undefined);
  return lacksParts ? NO_HOST_DATA : undefined;
}

function onlyNerdGraph(name: string, value: number): string | undefined {
  if (value === 0 && ZERO_RULE.test(name)) {
    return 'NerdGraph has no row for nothing, which is read as 0 for whatever reports';
  }
  if (value === 1 && REPORTING.test(name)) return 'what does not say whether it reports is read as reporting';
  return OF_HOST.test(name) ? NO_HOST_DATA : undefined;
}

/** The threshold of an Apdex over no request at all. */
function isThresholdOfNothing(name: string, others: Circumstances['others']): boolean {
  if (!APDEX_THRESHOLD.test(name)) return false;
  const requests = others(name.replace(APDEX_THRESHOLD, '_apdex_requests'));
  return requests.length > 0 && requests.every(({ rest }) => rest === 0);
}
