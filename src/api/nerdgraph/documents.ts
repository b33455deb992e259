/** A constant GraphQL document. Variables carry all values, so no outside text becomes part of a document. */
export interface Document {
  readonly text: string;
  /** Path in `data` to the object to read, such as `['actor', 'account', 'nrql']`. */
  readonly root: readonly string[];
  /** Path from `root` to a list. An error below it makes one field null. Without a list, every error fails the call. */
  readonly list?: readonly string[];
}

export const USER: Document = { text: `query { actor { user { id } } }`, root: ['actor', 'user'] };

export const ACCOUNTS: Document = {
  text: `query { actor { accounts { id name } } }`,
  root: ['actor'],
  list: ['accounts'],
};

/** Accounts for `account_ids`, in the key's region only: accounts of other regions need another address. */
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

export const ENTITY_LOOKUP = writeLookUp('guid');

export const KEY_TRANSACTION_DETAILS = writeLookUp(`guid
      ... on KeyTransactionEntity { apdexTarget metricName application { guid } }`);

/** Runs one NRQL query. Several queries in a document would fail and time out together. */
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

/** Searches entities of any type, with their golden metric definitions, on pages of `$limit` entities. */
export const ENTITIES = writeEntitySearch(
  `alertSeverity
          tags { key values }
          goldenMetrics {
            metrics { name title unit definition { select from where eventId eventObjectId } }
          }`,
  { declared: ', $limit: Int', passed: ', options: { limit: $limit }' },
);

export const ENTITY_TYPES: Document = {
  text: `query ($search: String!) { actor { entitySearch(query: $search) { types { domain type count } } } }`,
  root: ['actor', 'entitySearch'],
  list: ['types'],
};

/** Writes a look-up of at most 25 entities. */
function writeLookUp(fields: string): Document {
  const text = `query ($guids: [EntityGuid]!) { actor { entities(guids: $guids) { ${fields} } } }`;
  return { text, root: ['actor'], list: ['entities'] };
}

/** Writes a paged entity search. `fields` are further fields; `declared` adds a variable that `passed` passes on. */
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
