import type { Columns } from '../../../src/formulas/metricInputs.ts';
import { inColumns } from '../../support/restColumns.ts';
import type { Application, Host, Instance, KeyTransaction, RollingSummary } from '../../../src/api/types.ts';

const SUMMARY: RollingSummary = {
  responseTime: 0.12,
  requestRate: 10,
  errorRate: 0.01,
  apdexTarget: 0.5,
  apdexScore: 0.9,
  hostCount: 1,
  instanceCount: 1,
  concurrentInstanceCount: undefined,
};

export function application(id: number, over: Partial<Application> = {}): Application {
  return {
    id,
    name: `app-${id}`,
    language: 'java',
    healthStatus: 'green',
    reporting: true,
    lastReportedAt: 1_767_225_600,
    summary: SUMMARY,
    endUserSummary: undefined,
    alertPolicyId: undefined,
    hosts: undefined,
    instances: undefined,
    ...over,
  };
}

export function host(id: number, over: Partial<Host> = {}): Host {
  return { key: String(id), host: `host-${id}`, language: 'java', healthStatus: 'green', summary: SUMMARY, ...over };
}

export function instance(id: number, over: Partial<Instance> = {}): Instance {
  return {
    id,
    port: 8080 + id,
    hostId: undefined,
    host: `host-${id}`,
    language: 'java',
    healthStatus: 'green',
    summary: SUMMARY,
    ...over,
  };
}

export function keyTransaction(id: number, applicationId: number, over: Partial<KeyTransaction> = {}): KeyTransaction {
  return {
    id,
    name: `key-${id}`,
    transactionName: 'WebTransaction/x',
    healthStatus: 'green',
    reporting: true,
    lastReportedAt: undefined,
    summary: SUMMARY,
    endUserSummary: undefined,
    applicationId,
    ...over,
  };
}

/** The answer for the requested names, with the values of custom metrics. Unknown names are absent. */
export function metricsOf(
  known: Readonly<Record<string, Readonly<Record<string, number>>>>,
  names: readonly string[],
  wanted: (name: string) => readonly string[] | undefined,
): ReadonlyMap<string, Columns> {
  return new Map(
    names.flatMap((name) => {
      const values = Object.entries(known[name] ?? {}).filter(([value]) => wanted(name)?.includes(value));
      const columns = { ...inColumns(name, known[name] ?? {}), values: Object.fromEntries(values) };
      return known[name] === undefined ? [] : [[name, columns] as const];
    }),
  );
}

/** An application that serves 60 calls a minute, half of their time in the database, over 30 minutes. */
export const TRAFFIC: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  HttpDispatcher: { call_count: 1800, average_response_time: 100, average_call_time: 100, requests_per_minute: 60 },
  WebTransactionTotalTime: { call_count: 1800, average_response_time: 100, max_response_time: 900 },
  'Datastore/MySQL/allWeb': { call_count: 1800, average_response_time: 50 },
  'Database/allWeb': { call_count: 1800, average_response_time: 20 },
};
