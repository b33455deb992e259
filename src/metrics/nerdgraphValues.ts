import type { Template } from './template.ts';

/**
 * The value names that NerdGraph's rows give, by kind of metric, spelled as the REST interface spells them: the names
 * that the vendor's page "Query APM metric timeslice data with NRQL" gives an expression for.
 */
export const NERDGRAPH_VALUES = {
  /** Metrics of every kind but Apdex. */
  any: [
    'average_response_time',
    'average_call_time',
    'average_exclusive_time',
    'average_value',
    'total_value',
    'min_value',
    'max_value',
    'min_response_time',
    'max_response_time',
    'standard_deviation',
    'count',
    'call_count',
    'error_count',
    'calls_per_minute',
    'requests_per_minute',
    'errors_per_minute',
    'total_call_time_per_minute',
    'throughput',
    'rate',
    'percent',
    'as_percentage',
  ],
  /** Metrics whose names begin with `Apdex` or `EndUser/Apdex`, and no others. */
  apdex: ['s', 't', 'f', 'count', 'score', 'value', 'threshold', 'threshold_min'],
  /** `EndUser` has these beside those of every metric. */
  endUser: ['average_fe_response_time', 'average_be_response_time', 'average_network_time'],
  /** `Memory/Physical` has these beside those of every metric. */
  memory: ['used_mb_by_host', 'total_used_mb'],
} as const;

type Kind = keyof typeof NERDGRAPH_VALUES;

/** The names of the values that NerdGraph can give for the metrics that a custom metric's template may match. */
export function nerdgraphValuesOf(template: Pick<Template, 'source' | 'segments'>): readonly string[] {
  return kindsOf(template).flatMap((kind) => NERDGRAPH_VALUES[kind]);
}

function kindsOf({ source, segments }: Pick<Template, 'source' | 'segments'>): readonly Kind[] {
  const [first, second] = segments;
  if (first?.kind !== 'literal') return ['any', 'apdex', 'memory'];
  if (first.text === 'Apdex') return ['apdex'];
  if (first.text === 'EndUser') {
    if (second === undefined) return ['any', 'endUser'];
    if (second.kind !== 'literal') return ['any', 'apdex'];
    return second.text.startsWith('Apdex') ? ['apdex'] : ['any'];
  }
  const mayBeMemory = source === 'Memory/Physical' || (first.text === 'Memory' && second?.kind !== 'literal');
  return mayBeMemory ? ['any', 'memory'] : ['any'];
}
