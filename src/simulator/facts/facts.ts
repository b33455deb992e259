/**
 * The facts of docs/facts.md that the simulator can contradict, and two sizes that some of them need: more than 5,000 rows, and
 * more than 200 entities.
 */
export const FACTS = [
  'rest_summary_window',
  'rest_response_time_unit',
  'rest_throughput_unit',
  'rest_error_rate_scale',
  'rest_end_user_unit',
  'rest_raw',
  'rest_window_as_asked',
  'rest_next_keeps_filters',
  'rest_names_page',
  'rest_names_most',
  'rest_name_filter',
  'rest_unknown_name',
  'rest_errors_absent',
  'rest_memory_minutes',
  'rest_memory_hosts',
  'rest_silent_application',
  'rest_key_transaction_window',
  'nerdgraph_app_id',
  'nerdgraph_limit_max',
  'nerdgraph_other_result',
  'nerdgraph_first_function',
  'nerdgraph_facets',
  'nerdgraph_no_row',
  'nerdgraph_half_hour',
  'nerdgraph_hour',
  'nerdgraph_day',
  'nerdgraph_timeout',
  'nerdgraph_hosts',
  'nerdgraph_host_query',
  'nerdgraph_sign_of_life',
  'nerdgraph_like',
  'nerdgraph_in_list',
  'nerdgraph_unmatched',
  'nerdgraph_query_length',
  'nerdgraph_names',
  'nerdgraph_rollup_scope',
  'nerdgraph_series',
  'nerdgraph_syntax_error',
  'nerdgraph_foreign_account',
  'nerdgraph_percentile',
  'nerdgraph_entity_page',
  'nerdgraph_key_transaction_id',
  'nerdgraph_application_guid',
  'nerdgraph_user',
  'pack_alert_events',
  'pack_service_levels',
  'pack_deployments',
  'pack_transactions',
  'pack_browser',
  'pack_synthetics',
  'pack_limits',
  'pack_usage',
  'same_call_count',
  'same_response_time',
  'same_apdex',
  'same_cpu',
  'same_memory',
  'same_errors',
  'same_minutes',
  'same_database_types',
  'same_key_transactions',
  'late_minutes',
  'many_rows',
  'many_entities',
] as const;

/** The ids that make a row of docs/facts.md differ, or a size. */
export type PlantedFact = (typeof FACTS)[number];

/** The facts that a simulator contradicts. */
export type PlantedFacts = ReadonlySet<PlantedFact>;

const MANY_HOSTS = 3;
const MANY_APPLICATIONS = 60;

interface Size {
  readonly hostsPerApplication?: number;
  readonly applications?: number;
  readonly lateData?: number;
}

/** The options of a world that is large, or late, enough for the planted facts to show. */
export function sizeFor(facts: PlantedFacts, { hostsPerApplication = 0, applications = 0 }: Size): Size {
  const hasRows = facts.has('many_rows') || facts.has('nerdgraph_limit_max');
  const hasEntities = facts.has('many_entities') || facts.has('nerdgraph_entity_page');
  return {
    ...(hasRows ? { hostsPerApplication: Math.max(MANY_HOSTS, hostsPerApplication) } : {}),
    ...(facts.has('late_minutes') ? { lateData: 0.5 } : {}),
    ...(hasEntities ? { applications: Math.max(MANY_APPLICATIONS, applications) } : {}),
  };
}
