import { once } from 'node:events';
import type { AccountStatus, EntryStatus, GroupStatus } from '../../../src/collect/serve/accountStatus.ts';
import type { QueryStatus, TaskStatus, TypeStatus } from '../../../src/collect/serve/accountStatus.ts';
import type { Snapshot } from '../../../src/collect/collector.ts';
import type { ProbeResult } from '../../../src/collect/serve/probeResult.ts';
import type { Scope } from '../../../src/collect/schedule/demand.ts';
import type { WebCollector } from '../../../src/web/dependencies.ts';
import { GROUPS, type Group } from '../../../src/reads/reads.ts';
import type { Family, Labels, Sample } from '../../../src/metrics/family.ts';
import { packSamples, writeLabels, type Block, type DroppedSeries } from '../../../src/metrics/writeSamples.ts';

const NOW = 1_767_225_600;

/** A collector in memory that remembers what it was asked. */
export class MemoryCollector implements WebCollector {
  readonly refreshes: { groups: string[]; waitMs: number; account?: string }[] = [];
  readonly probes: { account: string; applicationId: number; waitMs: number }[] = [];
  /** The times for which responses were judged. */
  readonly asOf: (number | undefined)[] = [];
  cut: DroppedSeries[] = [];
  accounts: AccountStatus[] = [accountStatus()];
  blocks: Block[] = [breakdownBlock('production', 7, 'checkout')];
  complete = true;
  healthy = true;
  entries: readonly EntryStatus[] = [];
  isIncomplete = false;
  isReady = true;
  /** What a refresh waits for. */
  gate: Promise<void> = Promise.resolve();
  /** What a response waits for. */
  answered: Promise<void> = Promise.resolve();
  probeResult: ProbeResult = { kind: 'result', success: true, blocks: [], cut: [], notes: [] };

  async refresh(scope: Scope, waitMs: number, signal?: AbortSignal): Promise<void> {
    const { account } = scope;
    this.refreshes.push({ groups: [...scope.groups], waitMs, ...(account === undefined ? {} : { account }) });
    await this.#until(this.gate, signal);
  }

  async snapshot(scope: Scope, asOf?: number, signal?: AbortSignal): Promise<Snapshot> {
    this.asOf.push(asOf);
    const blocks = this.blocks.filter(({ group }) => scope.groups.has(group));
    await this.#until(this.answered, signal);
    signal?.throwIfAborted();
    const { complete, cut, entries, accounts } = this;
    return { blocks, complete, cut, entries, accounts };
  }

  async overview(scope: Scope): Promise<Awaited<ReturnType<WebCollector['overview']>>> {
    return { ...(await this.snapshot(scope)), accounts: this.accounts };
  }

  applicationLists(): ReturnType<WebCollector['applicationLists']> {
    return this.accounts.map(({ name: account, applications, tasks, visible }) => {
      const list = tasks.find(({ group }) => group === 'applications');
      const isOptional = false;
      if (list?.state === 'missing') return { account, isOptional, listed: undefined, applications: undefined };
      return { account, isOptional, listed: visible.applications, applications };
    });
  }

  readLists(): Promise<void> {
    return Promise.resolve();
  }

  progressing(): boolean {
    return this.healthy;
  }

  async probe(account: string, applicationId: number, waitMs: number, signal?: AbortSignal): Promise<ProbeResult> {
    this.probes.push({ account, applicationId, waitMs });
    await this.#until(this.gate, signal);
    return this.probeResult;
  }

  async #until(gate: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
    const ended = signal === undefined ? [] : [once(signal, 'abort')];
    await Promise.race([gate, ...ended]);
  }
}

const LIST: Partial<TaskStatus> = { group: 'applications', applicationId: undefined, application: undefined };

export function accountStatus(over: Partial<AccountStatus> = {}): AccountStatus {
  return {
    name: 'production',
    api: 'rest',
    region: 'us',
    endOfLife: undefined,
    accountId: undefined,
    entry: undefined,
    isOptional: false,
    labels: { team: 'payments' },
    up: true,
    refused: undefined,
    applicationCounts: undefined,
    windowEnd: NOW - 120,
    counters: undefined,
    groups: GROUPS.map((group) => groupStatus({ group })),
    budget: { configured: 600, inForce: 600, lastMinute: 123, inFlight: 2, pausedUntil: undefined },
    applications: [{ id: 7, name: 'checkout', language: 'java', reporting: true }],
    tasks: [task({ ...LIST, seconds: 0.21, windowEnd: undefined })],
    plan: { groups: [], callsPerMinute: 123.4, budget: 600, concurrencyCapacity: undefined, slowdown: 1 },
    visible: { applications: 1, keyTransactions: 0 },
    keyTransactions: 0,
    entities: [],
    queries: [],
    warnings: [],
    outage: undefined,
    ...over,
  };
}

export function task(over: Partial<TaskStatus> = {}): TaskStatus {
  return {
    group: 'application_metrics',
    applicationId: 7,
    application: 'checkout',
    hostId: undefined,
    host: undefined,
    entityType: undefined,
    entity: undefined,
    entityGuid: undefined,
    query: undefined,
    state: 'fresh',
    isLate: false,
    failures: 0,
    reason: undefined,
    problem: undefined,
    since: over.problem === undefined ? undefined : NOW - 1_200,
    seconds: 0.3,
    windowEnd: NOW - 120,
    ...over,
  };
}

export function groupStatus(over: Partial<GroupStatus> = {}): GroupStatus {
  return {
    group: 'applications',
    intervalSeconds: 60,
    effectiveIntervalSeconds: 60,
    success: true,
    lastSuccess: NOW - 30,
    durationSeconds: 1.25,
    tasks: { fresh: 1, stale: 0, missing: 0 },
    oldestWindowEnd: NOW - 120,
    ...over,
  };
}

export function queryStatus(over: Partial<QueryStatus> = {}): QueryStatus {
  return {
    name: 'orders',
    nrql: 'SELECT count(*) FROM Order',
    state: 'fresh',
    success: true,
    seconds: 0.2,
    lastSuccess: NOW - 30,
    windowEnd: NOW - 120,
    rows: 12,
    columns: ['count'],
    labels: [],
    series: 11,
    cut: 0,
    dropped: { not_a_number: 0, repeated: 1 },
    problem: undefined,
    ...over,
  };
}

export function typeStatus(over: Partial<TypeStatus> = {}): TypeStatus {
  return {
    type: 'EXT-SERVICE',
    state: 'fresh',
    success: true,
    seconds: 0.4,
    lastSuccess: NOW - 200,
    listed: 5,
    exported: 3,
    reporting: 2,
    excluded: 0,
    leftOut: 2,
    metrics: ['throughput'],
    metricProblems: [],
    missingMetrics: [],
    values: { fresh: 2, stale: 0, missing: 0 },
    failing: 0,
    oldestRead: NOW - 40,
    windowEnd: NOW - 160,
    series: 2,
    problem: undefined,
    ...over,
  };
}

const familyOf = (group: Group, name: string, labelNames: readonly string[] = []): Family => ({
  ...{ name, help: `${name} in a test.`, type: 'gauge', unit: 'seconds', group, labelNames },
});
const WINDOW = {
  response: 'response_time_seconds',
  queue: 'queue_time_seconds',
  total: 'total_time_seconds',
  requests: 'web_requests_per_second',
  background: 'non_web_requests_per_second',
  errorRatio: 'error_ratio',
  apdexScore: 'apdex_score',
  apdexThreshold: 'apdex_threshold_seconds',
  apdexRequests: 'apdex_requests',
} as const;
const FAMILIES = Object.entries(WINDOW).map(
  ([key, suffix]) =>
    [key as keyof typeof WINDOW, familyOf('application_metrics', `newrelic_application_${suffix}`)] as const,
);
const COMPONENT = familyOf('application_metrics', 'newrelic_application_component_time_seconds', ['component']);
const HEALTH = familyOf('applications', 'newrelic_application_health_status', ['status']);
const ROLLING_ERRORS = familyOf('applications', 'newrelic_application_rolling_error_ratio');

export interface Times extends Partial<Record<keyof typeof WINDOW, number>> {
  readonly components?: Readonly<Record<string, number>>;
}

function blockOf(group: Group, labels: Labels, samples: Sample[]): Block {
  return { ...writeLabels(labels), group, samples: packSamples(group, samples) };
}

/** The metric data of one application. */
export function breakdownBlock(
  account: string,
  id: number,
  app: string,
  values: Times = { response: 0.25, queue: 0.01, components: { 'Datastore/MySQL': 0.09, External: 0.05 }, total: 0.1 },
): Block {
  const samples = FAMILIES.flatMap(([key, family]): Sample[] => {
    const value = values[key];
    return value === undefined ? [] : [{ family, labels: undefined, value }];
  });
  const components = Object.entries(values.components ?? {}).map(([component, value]): Sample => {
    return { family: COMPONENT, labels: { component }, value };
  });
  return blockOf('application_metrics', { account, app, app_id: String(id) }, [...samples, ...components]);
}

/** What a list says of one application. */
export function listedBlock(account: string, id: number, app: string, health: string, rollingErrors?: number): Block {
  const rolling: Sample[] =
    rollingErrors === undefined ? [] : [{ family: ROLLING_ERRORS, labels: undefined, value: rollingErrors }];
  const labels = { account, app, app_id: String(id) };
  return blockOf('applications', labels, [...statusesOf(HEALTH, health), ...rolling]);
}

function statusesOf(family: Family, status: string): Sample[] {
  return ['green', 'red', 'orange', status].flatMap((each, index, all): Sample[] =>
    all.indexOf(each) < index ? [] : [{ family, labels: { status: each }, value: Number(each === status) }],
  );
}

/** An entity of a type with its golden metrics, by names that are titles, too. */
export function entityBlocks(
  account: string,
  type: string,
  entity: string,
  health: string,
  golden: Readonly<Record<string, number>>,
): readonly [Block, Block] {
  const listed = familyOf('entities', 'newrelic_entity_health_status', ['status']);
  const reporting = { family: familyOf('entities', 'newrelic_entity_reporting'), labels: undefined, value: 1 };
  const labels = { account, entity, entity_guid: `guid of ${entity}` };
  const values = Object.entries(golden).map(([name, value]): Sample => {
    const help = `${name} (MS); golden metric ${name} of ${type} as New Relic defines it`;
    return { family: { ...familyOf('golden_metrics', `newrelic_${name}`), help }, labels: undefined, value };
  });
  return [
    blockOf('entities', { ...labels, entity_type: type }, [reporting, ...statusesOf(listed, health)]),
    blockOf('golden_metrics', labels, values),
  ];
}

/** The time that the collector's data are of, Unix seconds. */
export const TEST_NOW = NOW;
