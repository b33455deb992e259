import { VALUES } from '../../src/formulas/valueFormulas.ts';

/** The values by kind of metric, grouped by meaning. Except for Apdex, every kind also has the values of `any`. */
const MEANINGS: Readonly<Record<keyof typeof VALUES, readonly (readonly [names: string, meaning: string])[]>> = {
  any: [
    ['average_value sessions_active', 'average, in the unit of the metric'],
    ['total_value total_visits', 'sum'],
    ['min_value max_value', 'least and greatest'],
    ['standard_deviation', 'of a time: standard deviation in milliseconds'],
    ['count call_count error_count launch_count', 'how often it was recorded'],
    ['calls_per_minute requests_per_minute errors_per_minute', 'the same per minute'],
    ['throughput', 'the same per second'],
    ['rate', 'sum per second'],
    ['total_call_time_per_minute', 'sum per minute: of a time, seconds per minute'],
    ['average_response_time average_call_time average_time', 'of a time: average in milliseconds'],
    ['average_exclusive_time', 'of a time: average without the calls in it, in milliseconds'],
    ['min_response_time max_response_time', 'of a time: least and greatest in milliseconds'],
    ['total_time', 'of a time: sum in milliseconds'],
    ['percent as_percentage', 'average in percent; `percent` of `CPU/User Time`: share of the window'],
    ['utilization time_percentage visits_percentage', 'of a time: share of the window in percent'],
    ['used_mb_by_host used_bytes_by_host', 'of memory: average in megabytes, and in bytes'],
  ],
  memory: [['total_used_mb', 'of all processes together, in megabytes']],
  device: [
    [
      'average_fe_response_time average_be_response_time average_network_time average_dom_content_load_time average_queue_time',
      'front end, back end, network, page content, queue: average in milliseconds',
    ],
    ['average_app_time', 'application, average in seconds'],
    ['total_fe_time total_network_time total_app_time', 'front end, network, application: sum in seconds'],
    ['total_dom_content_time total_queue_time', 'page content, queue: sum in milliseconds'],
    ['fe_time_percentage', 'front end, percent of the window'],
    ['network_time_percentage', "network, seconds as a share of the window (New Relic's formula has no factor of 100)"],
    ['average_sent_bytes average_received_bytes', 'bytes, as New Relic calculates them'],
  ],
  apdex: [
    ['s t f', 'satisfied, tolerating and frustrated requests'],
    ['count', 'all three together'],
    ['score value', 'Apdex score, 0 to 1'],
    ['threshold threshold_min', 'greatest and least target, in seconds'],
  ],
};

const METRICS: Readonly<Record<keyof typeof VALUES, string>> = {
  any: 'Of all metrics but those of an Apdex',
  memory: 'Of `Memory/...` also',
  device: 'Of `EndUser` and `EndUser/...`, `Browser/...`, `Mobile/...` also',
  apdex: 'Of an Apdex (`Apdex`, `Apdex/...`, `EndUser/Apdex...`)',
};

/** The values in New Relic's example of a metric name list. Over REST, nearly every metric has them. */
const USUAL_OVER_REST = [
  ...['average_response_time', 'calls_per_minute', 'call_count', 'min_response_time', 'max_response_time'],
  ...['average_exclusive_time', 'average_value', 'total_call_time_per_minute', 'requests_per_minute'],
  'standard_deviation',
];

/** Writes the section on values of custom metrics. Throws if `MEANINGS` and the formulas have different values. */
export function customValues(): string {
  const kinds = Object.keys(MEANINGS) as (keyof typeof VALUES)[];
  const lists = kinds.map((kind) => {
    const described = MEANINGS[kind].flatMap(([names]) => names.split(' '));
    const existing = [...VALUES[kind].keys()].filter(
      (name) => kind === 'any' || kind === 'apdex' || !VALUES.any.has(name),
    );
    if (existing.toSorted().join() !== described.toSorted().join()) {
      throw new Error(`the values of ${kind} metrics are ${existing.join()}, and described are ${described.join()}`);
    }
    const lines = MEANINGS[kind].map(([names, meaning]) => `- ${codes(names.split(' '))}: ${meaning}`);
    return `${METRICS[kind]}:\n\n${lines.join('\n')}`;
  });
  return `## Values of custom metrics

\`value\` of a [custom metric](configuration.md#accountscustom_metrics) is a value name of the REST interface. Most useful for metrics of
your own: \`average_value\`, \`total_value\` and \`count\`; for times \`average_response_time\`.

- **NerdGraph** has counts and sums of every metric, from which the exporter calculates these values. Another one is a fault of the
  configuration.
- **REST** gives each metric the values that New Relic lists for it: \`metric-names\` prints them. One that it does not list is a
  warning on the status page and of \`check --live\`. Nearly all metrics have ${codes(USUAL_OVER_REST)}. Some, such as
  \`min_call_time\` of transactions, only REST has.

${lists.join('\n\n')}
`;
}

function codes(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}
