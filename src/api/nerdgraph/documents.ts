/** The GraphQL documents, constants: whatever varies travels in variables, so that no text of others becomes a query. */

export const ACCOUNTS = `query { actor { accounts { id name } } }`;

export const APPLICATIONS = entitySearch(`tags { key values }
          ... on ApmApplicationEntityOutline {
            alertSeverity
            applicationId
            language
            apmSummary { hostCount instanceCount }
            settings { apdexTarget serverSideConfig }
          }`);

export const KEY_TRANSACTIONS = entitySearch(`tags { key values }
          ... on KeyTransactionEntityOutline { alertSeverity }`);

/** At most 25 guids. */
export const KEY_TRANSACTION_DETAILS = `query ($guids: [EntityGuid]!) {
  actor {
    entities(guids: $guids) {
      guid
      ... on KeyTransactionEntity { apdexTarget metricName application { guid } }
    }
  }
}`;

/** One query of the language NRQL; several in a document would fail and time out together. */
export const NRQL = `query ($account: Int!, $nrql: Nrql!, $timeout: Seconds) {
  actor {
    account(id: $account) {
      nrql(query: $nrql, timeout: $timeout) {
        results
        otherResult
        metadata { facets messages timeWindow { begin end } }
      }
    }
  }
}`;

/** A search page by page; `fields` are what is read of an entity beside what every entity has. */
function entitySearch(fields: string): string {
  return `query ($search: String!, $cursor: String) {
  actor {
    entitySearch(query: $search) {
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
}
