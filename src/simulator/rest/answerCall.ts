import type { RestKind } from '../callKinds.ts';
import type { Answer } from '../wire/answer.ts';
import type { Call } from './call.ts';
import * as entities from './entities.ts';
import { metricNames, metricTimeslices } from './metrics.ts';

const ANSWERS: Readonly<Record<RestKind, (call: Call) => Answer>> = {
  applications: entities.applications,
  application: entities.application,
  hosts: entities.hosts,
  host: entities.host,
  instances: entities.instances,
  instance: entities.instance,
  key_transactions: entities.keyTransactions,
  key_transaction: entities.keyTransaction,
  metric_names: metricNames,
  metric_data: metricTimeslices,
};

/** The answer of a healthy service to a call with a valid key. */
export function answer(call: Call): Answer {
  return ANSWERS[call.route.kind](call);
}
