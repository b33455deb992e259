import type { Fact } from './fact.ts';

const PAGE = 'the table of NRQL equivalents of New Relic';
const ASKED = 'the same ten minutes of the five largest applications through both interfaces';

/** The assumptions about both interfaces together, and about the delay of data. */
export const SHARED_FACTS = [
  {
    id: 'same_call_count',
    relies: 'HttpDispatcher has the same calls in both interfaces',
    source: PAGE,
    asked: ASKED,
    wrong: ['newrelic_*_web_requests_per_second', 'counters'],
  },
  {
    id: 'same_response_time',
    relies: 'HttpDispatcher has the same response time in both interfaces',
    source: PAGE,
    asked: ASKED,
    wrong: ['newrelic_*_response_time_seconds', 'newrelic_*_web_transaction_time_seconds'],
  },
  {
    id: 'same_apdex',
    relies: 'Apdex has the same satisfied, tolerating and frustrated requests in both interfaces',
    source: PAGE,
    asked: ASKED,
    wrong: ['newrelic_*_apdex_score', 'newrelic_*_apdex_requests'],
  },
  {
    id: 'same_cpu',
    relies: 'CPU/User Time is summed over hosts in both interfaces',
    source: 'inferred',
    asked: ASKED,
    wrong: ['newrelic_*_cpu_usage_ratio'],
  },
  {
    id: 'same_memory',
    relies: 'total_used_mb is the mean of a process times the processes',
    source: "queries of New Relic's own pages; the table of equivalents has sum()",
    asked: ASKED,
    wrong: ['newrelic_application_memory_used_bytes'],
  },
  {
    id: 'same_errors',
    relies: 'Errors/all has the same count in both interfaces',
    source: PAGE,
    asked: ASKED,
    wrong: ['newrelic_*_error_ratio', 'newrelic_*_errors_per_second'],
  },
  {
    id: 'same_minutes',
    relies: 'a minute has the same beginning in both interfaces',
    source: 'inferred',
    asked: 'the calls of the largest application in each of ten minutes through both interfaces',
    wrong: ['newrelic_application_*', 'newrelic_host_*'],
    follows: ['same_call_count', 'same_response_time', 'same_apdex', 'same_cpu', 'same_memory', 'same_errors'],
  },
  {
    id: 'same_database_types',
    relies: 'the types of databases have the same names in both interfaces',
    source: 'inferred',
    asked: 'the Datastore metrics of the five largest applications',
    wrong: ['newrelic_*_component_time_seconds', 'newrelic_*_component_calls_per_second'],
  },
  {
    id: 'same_key_transactions',
    relies: 'apm.key.transaction.duration over 10 minutes is what the summary of a key transaction says',
    source: "New Relic's golden metrics",
    asked: 'up to five key transactions through both interfaces',
    wrong: ['newrelic_key_transaction_rolling_*'],
  },
  {
    id: 'late_minutes',
    relies: 'a minute is complete after collection.delay',
    source: "New Relic's alerting waits for 2 minutes",
    asked: 'with --wait: the calls of a minute 2, 3, 5 and 10 minutes after its end',
    wrong: ['collection.delay', 'newrelic_application_*', 'newrelic_host_*'],
    follows: ['rest_memory_minutes', 'rest_memory_hosts', 'same_memory', 'same_minutes', 'same_key_transactions'],
  },
] as const satisfies readonly Fact[];
