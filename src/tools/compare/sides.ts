import { pino } from 'pino';
import { UpstreamError } from '../../api/upstreamError.ts';
import { Collector } from '../../collect/collector.ts';
import { systemClock } from '../../eventLoop/clock.ts';
import type { Labels } from '../../metrics/family.ts';
import type { Block } from '../../metrics/writeSamples.ts';
import type { Group } from '../../reads/reads.ts';
import type { CommandContext, LiveSession } from '../upstream/session.ts';

export interface SideSeries {
  readonly family: string;
  /** The labels that both interfaces share, such as the name of a host. */
  readonly labels: Labels;
  readonly value: number;
}

/** The data of one interface for the chosen applications over one window. */
export type Side = ReturnType<typeof buildSide>;

const GROUPS = new Set<Group>(['applications', 'key_transactions', 'application_metrics', 'hosts', 'host_metrics']);

/** Reads the series that the daemon would serve for each account. The window ends at `to` (Unix seconds). */
export async function readSides(
  { accounts, config, signal, openReader }: LiveSession & Pick<CommandContext, 'openReader'>,
  to: number,
): Promise<readonly Side[]> {
  const collector = new Collector(config, {
    // Stops the wall clock, so that both interfaces read the same window.
    clock: { ...systemClock, now: () => 1000 * to + config.collection.delay },
    log: pino({ enabled: false }),
    openReader: (account, from, limiter) =>
      openReader(account, from, limiter, accounts.find(({ reader }) => reader.api === account.api)?.reader),
  });
  try {
    await collector.refresh({ groups: GROUPS }, Infinity, signal, true);
    signal.throwIfAborted();
    for (const { name, tasks } of collector.status()) {
      const { problem, reason = 'other' } = tasks.find((task) => task.problem !== undefined) ?? {};
      if (problem === undefined) continue;
      throw new Error(`the data cannot be read over ${name}`, { cause: new UpstreamError(problem, { reason }) });
    }
    const { blocks } = await collector.snapshot({ groups: GROUPS });
    return config.accounts.map(({ name }) => buildSide(blocks.filter(({ labels }) => labels['account'] === name)));
  } finally {
    await collector.stop();
  }
}

function buildSide(blocks: readonly Block[]) {
  const series: readonly SideSeries[] = blocks.flatMap(({ labels: entityLabels, samples: { columns, values } }) =>
    columns.map(({ family: { name: family }, labels }, index) => {
      return { family, labels: pickSharedLabels(family, { ...entityLabels, ...labels }), value: values[index] ?? NaN };
    }),
  );
  const listed = series.filter(({ family }) => family.endsWith('_info'));
  /** The keys of the listed entities. Two hosts with one name have the same key twice. */
  const entities: readonly string[] = listed.map(({ labels }) => entityKey(labels));
  return { series, entities };
}

function pickSharedLabels(family: string, labels: Labels): Labels {
  const dropped = ['account', 'host_id', 'alert_policy_id'];
  // Only the info series keeps the application: another application is one difference, not a difference of each series.
  const isOfKeyTransaction = labels['key_transaction_id'] !== undefined;
  if (isOfKeyTransaction) dropped.push('app');
  if (isOfKeyTransaction && family !== 'newrelic_key_transaction_info') dropped.push('app_id');
  return Object.fromEntries(Object.entries(labels).filter(([name]) => !dropped.includes(name)));
}

/** Returns the key of an entity. A host has its name in the key, because the interfaces do not share ids of hosts. */
export function entityKey({ app_id, host, key_transaction_id }: Labels): string {
  if (key_transaction_id !== undefined) return JSON.stringify(['key transaction', key_transaction_id]);
  return JSON.stringify(host === undefined ? ['application', app_id] : ['host', app_id, host]);
}
