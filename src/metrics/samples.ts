import type { Application, Host, Instance, KeyTransaction, RollingValues } from '../api/types.ts';
import { APPLICATION } from './applicationRows.ts';
import { samplesOf } from './family.ts';
import { HOST, INSTANCE } from './hostRows.ts';
import { KEY_TRANSACTION } from './keyTransactionRows.ts';
import { rollingOf } from './rollingRows.ts';
import type { Sample } from './sample.ts';

const APPLICATION_ROWS = Object.values(APPLICATION);
const HOST_ROWS = Object.values(HOST);
const INSTANCE_ROWS = Object.values(INSTANCE);
const KEY_TRANSACTION_ROWS = Object.values(KEY_TRANSACTION);

/**
 * State and rolling values of an application, in base units. `rolling`: its rolling values where they are read apart from
 * the list; settings, Apdex target and numbers of hosts and instances are the list's with either interface.
 */
export function applicationSamples(application: Application, rolling?: RollingValues): Sample[] {
  return samplesOf(APPLICATION_ROWS, { entry: application, rolling: rollingOf(application, rolling) });
}

/** State and rolling values of a host, in base units; `rolling` as for applications. */
export function hostSamples(host: Host, rolling?: RollingValues): Sample[] {
  return samplesOf(HOST_ROWS, { entry: host, rolling: rollingOf(host, rolling) });
}

/** State and rolling values of an instance, in base units. */
export function instanceSamples(instance: Instance): Sample[] {
  return samplesOf(INSTANCE_ROWS, { entry: instance, rolling: rollingOf(instance, undefined) });
}

/**
 * State and rolling values of a key transaction, in base units; `rolling` as for applications. None of one whose details
 * could not be read: they could not be labelled.
 */
export function keyTransactionSamples(keyTransaction: KeyTransaction, rolling?: RollingValues): Sample[] {
  if (keyTransaction.unread !== undefined) return [];
  return samplesOf(KEY_TRANSACTION_ROWS, { entry: keyTransaction, rolling: rollingOf(keyTransaction, rolling) });
}
