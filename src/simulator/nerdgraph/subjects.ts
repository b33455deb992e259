import type { GraphqlKind } from '../callKinds.ts';
import { valuesOf } from '../nrql/condition.ts';
import { NrqlSyntaxError } from '../nrql/error.ts';
import { parseNrql } from '../nrql/parse.ts';
import { isForKeyTransactions, parseSearch } from './entitySearch.ts';

/** What the text is about; `fallback` when it is no sound text, which the answer then says. */
function reading<Subject>(read: () => Subject, fallback: Subject): Subject {
  try {
    return read();
  } catch (error) {
    if (error instanceof NrqlSyntaxError) return fallback;
    throw error;
  }
}

/** What an entity search looks for: key transactions when it names them, else applications. */
export function kindOfSearch(text: string): GraphqlKind {
  const isFor = reading(() => isForKeyTransactions(parseSearch(text)), false);
  return isFor ? 'graphql_key_transactions' : 'graphql_applications';
}

/** The application ids that an NRQL query names. */
export function applicationIdsOf(query: string): readonly number[] {
  return reading(() => {
    const { where } = parseNrql(query);
    return where === undefined ? [] : valuesOf(where, 'appId').map(Number);
  }, []);
}
