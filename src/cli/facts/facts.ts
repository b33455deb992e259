import { NERDGRAPH_FACTS } from './nerdgraphFacts.ts';
import { REST_FACTS } from './restFacts.ts';
import { SHARED_FACTS } from './sharedFacts.ts';

/** All facts, in the order of the checks and of the output. */
export const FACTS = [...REST_FACTS, ...NERDGRAPH_FACTS, ...SHARED_FACTS] as const;

export type FactId = (typeof FACTS)[number]['id'];

/** Assumptions that no call to an account can decide, with the reason. */
export const UNDECIDABLE: readonly (readonly [what: string, why: string])[] = [
  ['The bodies of 403, 404, 422 and 5xx answers', 'a harmless call does not cause them; bodies of any form are read'],
  [
    'The headers of a 429 answer of NerdGraph, and how NRQL reports its limit',
    'it takes an overload; pauses do without',
  ],
  ['Null among the values of metric data', 'it cannot be caused; a null is left out and counted'],
  ['Zeros of metrics that were collected once', 'when a metric ended is not known; zeros and absences are both read'],
  ['Metric data as XML', 'never asked for'],
  ['The header X-Account-ID with REST', 'never sent'],
  [
    'Whether Api-Key works for every user key with REST',
    'X-Api-Key is sent, and `check --live` shows whether it works',
  ],
  ['A period finer than the granule', 'never asked for'],
  ['The window and the units of apmSummary', 'its times and rates are not read, only its counts'],
  ['Whether realAgentId is the REST instance id', 'it is not read: NerdGraph has no instances here'],
  ['Timeslices over NRQL in the regions jp and gov', 'only an account there shows it: `check --live` warns of no rows'],
  ['Whether a role hides data as empty rows or by an error', 'the key of one user cannot tell; both are warned of'],
  ['A batch whose rows are cut although otherResult is empty', 'what is missing in silence cannot be counted'],
  ['How long lists keep applications that no longer report', 'it takes weeks'],
];
