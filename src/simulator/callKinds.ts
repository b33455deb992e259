/** The kinds of calls the REST interface answers, one per path template. */
export const REST_KINDS = [
  'applications',
  'application',
  'hosts',
  'host',
  'instances',
  'instance',
  'key_transactions',
  'key_transaction',
  'metric_names',
  'metric_data',
] as const;
export type RestKind = (typeof REST_KINDS)[number];

/** The kinds of data a GraphQL document can ask for; one document may ask for several. */
const GRAPHQL_KINDS = [
  'graphql_accounts',
  'graphql_applications',
  'graphql_key_transactions',
  'graphql_entities',
  'graphql_nrql',
] as const;
export type GraphqlKind = (typeof GRAPHQL_KINDS)[number];

export const CALL_KINDS = [...REST_KINDS, ...GRAPHQL_KINDS] as const;
export type CallKind = (typeof CALL_KINDS)[number];
