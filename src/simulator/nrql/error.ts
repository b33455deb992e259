/** The text is not a query that the service understands. The message says where it stopped reading. */
export class NrqlSyntaxError extends Error {
  override readonly name = 'NrqlSyntaxError';

  constructor(problem: string, position?: number) {
    super(`NRQL Syntax error: ${position === undefined ? '' : `Error at position ${position}, `}${problem}`);
  }
}

/** The query is longer, or its result larger, than the service allows. */
export class QueryTooBigError extends Error {
  override readonly name = 'QueryTooBigError';

  constructor() {
    super('that query is a little too big. If using TIMESERIES, try fewer buckets and if faceting, reduce the LIMIT');
  }
}
