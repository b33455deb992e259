/** A constant GraphQL document. Variables carry all values, so that no text from outside becomes part of a query. */
export interface Document {
  readonly text: string;
  /** The path in `data` to the part that is read, such as `['actor', 'account', 'nrql']`. */
  readonly root: readonly string[];
  /** The path from `root` to a list. An error below it makes only one field null; without a list every error fails the call. */
  readonly list?: readonly string[];
}

export const USER: Document = { text: `query { actor { user { id } } }`, root: ['actor', 'user'] };

export const ACCOUNTS: Document = {
  text: `query { actor { accounts { id name } } }`,
  root: ['actor'],
  list: ['accounts'],
};

/** The accounts of an entry with `account_ids`: those of the key's region, because the others need another address. */
export const ACCOUNTS_IN_REGION: Document = {
  text: `query { actor { accounts(scope: IN_REGION) { id name } } }`,
  root: ['actor'],
};

export const APPLICATIONS = writeEntitySearch(`tags { key values }
          ... on ApmApplicationEntityOutline {
            alertSeverity
            applicationId
            language
            apmSummary { hostCount instanceCount }
            settings { apdexTarget serverSideConfig }
          }`);

export const KEY_TRANSACTIONS = writeEntitySearch(`tags { key values }
          ... on KeyTransactionEntityOutline { alertSeverity }`);

/** Whether entities exist, at most 25. */
export const ENTITY_LOOKUP: Document = {
  text: `query ($guids: [EntityGuid]!) {
  actor {
    entities(guids: $guids) { guid }
  }
}`,
  root: ['actor'],
  list: ['entities'],
};

/** Details of at most 25 key transactions. */
export const KEY_TRANSACTION_DETAILS: Document = {
  text: `query ($guids: [EntityGuid]!) {
  actor {
    entities(guids: $guids) {
      guid
      ... on KeyTransactionEntity { apdexTarget metricName application { guid } }
    }
  }
}`,
  root: ['actor'],
  list: ['entities'],
};

/** One query of the language NRQL; several in a document would fail and time out together. */
export const NRQL: Document = {
  text: `query ($account: Int!, $nrql: Nrql!, $timeout: Seconds) {
  actor {
    account(id: $account) {
      nrql(query: $nrql, timeout: $timeout) {
        results
        otherResult
        metadata { facets messages timeWindow { begin end } }
      }
    }
  }
}`,
  root: ['actor', 'account', 'nrql'],
};

/** Entities of any type with the definitions of their golden metrics, on pages of variable size. */
export const ENTITIES = writeEntitySearch(
  `alertSeverity
          tags { key values }
          goldenMetrics {
            metrics { name title unit definition { select from where eventId eventObjectId } }
          }`,
  { declared: ', $limit: Int', passed: ', options: { limit: $limit }' },
);

export const ENTITY_TYPES: Document = {
  text: `query ($search: String!) {
  actor {
    entitySearch(query: $search) {
      types { domain type count }
    }
  }
}`,
  root: ['actor', 'entitySearch'],
  list: ['types'],
};

/** A paged search for entities with these further `fields`; `declared` adds a variable, and `passed` passes it to the search. */
function writeEntitySearch(fields: string, { declared, passed } = { declared: '', passed: '' }): Document {
  const text = `query ($search: String!, $cursor: String${declared}) {
  actor {
    entitySearch(query: $search${passed}) {
      count
      results(cursor: $cursor) {
        nextCursor
        entities {
          guid
          name
          accountId
          reporting
          ${fields}
        }
      }
    }
  }
}`;
  return { text, root: ['actor', 'entitySearch'], list: ['results', 'entities'] };
}
