import { ARCHETYPES } from '../world/archetypes.ts';
import { metricDefinitions } from '../world/agentMetrics.ts';
import type { RollingFigures } from '../world/rollingFigures.ts';
import type { PlantedFacts } from '../simulatorSettings.ts';

/** The minutes that a summary covers: 4 for applications, 10 for key transactions. */
export function summaryMinutes(of: 'application' | 'key_transaction', facts: PlantedFacts): number {
  if (of === 'application') return facts.has('rest_summary_window') ? 10 : 4;
  return facts.has('rest_key_transaction_window') ? 4 : 10;
}

const NOTHING: RollingFigures = { response_time: 0, throughput: 0, error_rate: 0, apdex_score: 0 };

/** The figures of a summary, in other units where they are planted. */
export function plantedSummary(figures: RollingFigures | undefined, facts: PlantedFacts): RollingFigures | undefined {
  if (figures === undefined) return facts.has('rest_silent_application') ? NOTHING : undefined;
  return {
    ...figures,
    response_time: figures.response_time / (facts.has('rest_response_time_unit') ? 1000 : 1),
    throughput: figures.throughput / (facts.has('rest_throughput_unit') ? 60 : 1),
    error_rate: figures.error_rate * (facts.has('rest_error_rate_scale') ? 100 : 1),
  };
}

/** The figures of browsers. */
export function plantedBrowserSummary(
  figures: RollingFigures | undefined,
  facts: PlantedFacts,
): RollingFigures | undefined {
  if (figures === undefined || !facts.has('rest_end_user_unit')) return figures;
  return { ...figures, response_time: figures.response_time * 1000 };
}

/** The values of a metric over some minutes, of one process or of several. */
export function plantedValues(
  values: Record<string, number>,
  { minutes, processes }: { readonly minutes: number; readonly processes: number },
  facts: PlantedFacts,
): Record<string, number> {
  const { total_used_mb: memory } = values;
  if (memory === undefined) return values;
  if (facts.has('rest_memory_minutes')) return { ...values, total_used_mb: memory * minutes };
  if (facts.has('rest_memory_hosts')) return { ...values, total_used_mb: memory / Math.max(1, processes) };
  return values;
}

const PAGE_OF_NAMES = { usual: 1000, planted: 500 };
const MOST_NAMES = 25;

export function namesPerPage(facts: PlantedFacts): number {
  return facts.has('rest_names_page') ? PAGE_OF_NAMES.planted : PAGE_OF_NAMES.usual;
}

/** Whether a name passes the filter of a list; both in small letters. */
export function passesName(name: string, part: string, facts: PlantedFacts): boolean {
  return facts.has('rest_name_filter') ? name.startsWith(part) : name.includes(part);
}

/** The reason to refuse metric data of these names; undefined: there is none. */
export function refusalOf(names: readonly string[], facts: PlantedFacts): string | undefined {
  if (facts.has('rest_names_most') && names.length > MOST_NAMES) return 'too many names';
  if (facts.has('rest_unknown_name') && names.some((name) => !KNOWN.has(name))) return 'unknown metric name';
  return undefined;
}

/** The names that any application has. */
const KNOWN: ReadonlySet<string> = new Set([
  ...ARCHETYPES.flatMap((archetype) => [...metricDefinitions(archetype).keys()]),
  ...['EndUserApdex', 'WebFrontend/QueueTime'],
]);

/** The parameters of a list that the links to its other pages do not carry. */
export function droppedParameters(parameters: URLSearchParams, facts: PlantedFacts): readonly string[] {
  return facts.has('rest_next_keeps_filters') ? [...parameters.keys()] : [];
}
