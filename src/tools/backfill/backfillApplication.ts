import { backoff } from '../../api/backoff.ts';
import type { LimitFunction } from 'p-limit';
import { UpstreamError, type FailureReason } from '../../api/upstreamError.ts';
import { type CallOptions, type MetricDataSubject, type SeriesChunk, takeAll } from '../../api/upstreamReader.ts';
import type { FamilyScope, Labels } from '../../metrics/family.ts';
import { queryNames, windowSamples } from '../../metrics/windowFamilies.ts';
import { addBraces, writeLabelPairs } from '../../metrics/writeSamples.ts';
import { readOne } from '../upstream/readForCommand.ts';
import type { LiveAccount } from '../upstream/session.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { BackfillSubject, State } from './planBackfill.ts';
import type { Columns } from '../../formulas/metricInputs.ts';
import { databaseKind, type DatabaseChoice } from '../../formulas/derivedValues.ts';
import { type ReadChunk, addCalls, createRollingWindows } from './rollingWindows.ts';

const TRANSIENT: ReadonlySet<FailureReason> = new Set(['timeout', 'network', 'server', 'rate_limited']);

const APPLICATION = 'application';

const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 60_000;
const MAX_ATTEMPTS = 6;

/** Repeats a read after a transient failure: a minute of trouble must not end a run of hours. */
export async function retryTransient<T>(read: () => Promise<T>, sleep: (ms: number) => Promise<void>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await read();
    } catch (error) {
      const mayPass = error instanceof UpstreamError && TRANSIENT.has(error.failure.reason);
      if (!mayPass || attempt >= MAX_ATTEMPTS) throw error;
      await sleep(backoff(attempt, FIRST_WAIT_MS, LONGEST_WAIT_MS));
    }
  }
}

/** An application or one of its hosts, with the metric names to request. */
interface BackfillEntity {
  /** Part of its file names. */
  readonly key: string;
  readonly scope: FamilyScope;
  readonly hostKey?: string;
  readonly names: readonly string[];
  readonly labels: Labels;
}

/** Reads the application and its hosts, or loads them from disk if an earlier run has them. */
async function readEntities(subject: BackfillSubject, context: ApplicationContext): Promise<readonly BackfillEntity[]> {
  const { call, checkpoint } = context;
  const { range } = context.state;
  const { reader } = context.account;
  const file = `${folderOf(subject)}/layout.json`;
  if (checkpoint.has(file)) return checkpoint.read<readonly BackfillEntity[]>(file);
  const applicationId = subject.id;
  const datastores = reader.datastores && (await readOne(reader.datastores, { applicationId }, range, call));
  const hosts = subject.hosts ? await readOne(reader.hosts, { applicationId }, range, call) : [];
  const namesOf = (scope: FamilyScope): string[] => queryNames(datastores ?? [], scope, reader.api);
  const entities: BackfillEntity[] = [
    { key: APPLICATION, scope: 'application', names: namesOf('application'), labels: subject.labels },
    // By index, because the name of a host may contain characters that a file name may not.
    ...hosts.map(({ key, host }, position) => ({
      key: `host-${position}`,
      scope: 'host' as const,
      hostKey: key,
      names: namesOf('host'),
      // Labels in the order of the daemon.
      labels: { account: '', app: '', app_id: '', host, host_id: key, ...subject.labels },
    })),
  ];
  await checkpoint.write(file, entities);
  return entities;
}

/** Ids are unique only within an account. */
function folderOf({ account, id }: BackfillSubject): string {
  return `${account}-${id}`;
}

export interface ApplicationContext {
  readonly state: State;
  readonly checkpoint: Checkpoint;
  readonly account: LiveAccount;
  readonly call: CallOptions;
  /** The chunks of the account, oldest first. */
  readonly chunks: readonly SeriesChunk[];
  readonly sleep: (ms: number) => Promise<void>;
  readonly mask: (text: string) => string;
  /** Lets one application at a time calculate, because tables take memory. */
  readonly calculating: LimitFunction;
  readonly count: (chunks: number) => void;
}

/** Reads an application chunk by chunk, and writes its samples to disk. Skips finished work. */
export async function backfillApplication(subject: BackfillSubject, context: ApplicationContext): Promise<Written> {
  const { checkpoint, call, chunks, sleep } = context;
  call.signal.throwIfAborted();
  const finished = `${folderOf(subject)}/finished.json`;
  if (checkpoint.has(finished)) {
    context.count(chunks.length);
    return checkpoint.read<Written>(finished);
  }
  const entities = await retryTransient(() => readEntities(subject, context), sleep);
  for (const [index, chunk] of chunks.entries()) {
    await retryTransient(() => readChunk(subject, entities, chunk, index, context), sleep);
    context.count(1);
  }
  const written = await context.calculating(async () => {
    const database = await chooseDatabase(subject, context);
    // Removes the files of an interrupted run, which may be incomplete.
    await checkpoint.remove(`${folderOf(subject)}/families`);
    const taken = new Set<string>();
    let samples = 0;
    for (const entity of entities) samples += await writeSeries(subject, entity, database, taken, context);
    return { series: taken.size, samples };
  });
  await checkpoint.write(finished, written);
  await checkpoint.remove(`${folderOf(subject)}/read`);
  return written;
}

interface Written {
  readonly series: number;
  readonly samples: number;
}

/** Names the file with the samples of a family, for an application and its hosts. */
export function familyFile(subject: BackfillSubject, family: string): string {
  return `${folderOf(subject)}/families/${family}.om`;
}

function chunkFile(subject: BackfillSubject, key: string, index: number): string {
  return `${folderOf(subject)}/read/${key}/${index}.json`;
}

/** Reads a chunk for all entities without data on disk. After all calls, rejects with the first failure. */
async function readChunk(
  subject: BackfillSubject,
  entities: readonly BackfillEntity[],
  chunk: SeriesChunk,
  index: number,
  { checkpoint, account, call }: ApplicationContext,
): Promise<void> {
  call.signal.throwIfAborted();
  const files = new Map<MetricDataSubject, string>();
  for (const { key, hostKey, names } of entities) {
    const file = chunkFile(subject, key, index);
    if (!checkpoint.has(file)) files.set({ applicationId: subject.id, hostKey, metrics: { names } }, file);
  }
  const { metricSeries } = account.reader;
  const failures: Error[] = [];
  const calls = Array.from(takeAll(metricSeries, files.keys(), chunk), async ({ subjects }) => {
    for (const [position, outcome] of (await metricSeries.read(subjects, chunk, call)).entries()) {
      const file = files.get(subjects[position] as MetricDataSubject) ?? '';
      const { from, to } = chunk;
      if ('error' in outcome) failures.push(outcome.error);
      else await checkpoint.write(file, { from, to, ...outcome.value } satisfies ReadChunk);
    }
  });
  await Promise.allSettled(calls);
  await Promise.all(calls);
  if (failures[0] !== undefined) throw failures[0];
}

async function chooseDatabase(subject: BackfillSubject, context: ApplicationContext) {
  const calls = new Map<string, Pick<Columns, 'count'>>();
  const addChunk = createRollingWindows(0, -Infinity, context.account.reader.metricSeries);
  for await (const chunk of loadChunks(subject, APPLICATION, context)) {
    for (const { values } of addChunk(chunk)) addCalls(calls, values);
  }
  return databaseKind({ seconds: Infinity, metrics: calls }, subject.language, subject.database);
}

/** Appends the series of an entity to the files of their families. Returns the number of samples. */
async function writeSeries(
  subject: BackfillSubject,
  entity: BackfillEntity,
  database: DatabaseChoice | undefined,
  taken: Set<string>,
  context: ApplicationContext,
): Promise<number> {
  const { state, account, checkpoint } = context;
  const addChunk = createRollingWindows(state.window, state.range.from, account.reader.metricSeries);
  const table = new Map<string, { readonly family: string; readonly labels: Labels; readonly points: string[] }>();
  for await (const chunk of loadChunks(subject, entity.key, context)) {
    for (const { time, values: windowValues } of addChunk(chunk)) {
      for (const { family, labels = {}, value } of windowSamples(entity.scope, windowValues, database)) {
        if (!Number.isFinite(value)) continue;
        const key = [family.name, ...Object.values(labels)].join('\0');
        const series = table.get(key) ?? { family: family.name, labels, points: [] };
        table.set(key, series);
        series.points.push(`${value} ${time}\n`);
      }
    }
  }
  let samples = 0;
  for (const { family, labels, points } of table.values()) {
    const pairs = context.mask([...writeLabelPairs(entity.labels), ...writeLabelPairs(labels)].join(','));
    const beginning = family + addBraces(pairs);
    // The mask can make labels equal: the first series counts, as in a scrape.
    if (taken.has(beginning)) continue;
    taken.add(beginning);
    await checkpoint.append(familyFile(subject, family), points.map((point) => beginning + point).join(''));
    samples += points.length;
  }
  return samples;
}

async function* loadChunks(subject: BackfillSubject, key: string, { chunks, checkpoint, call }: ApplicationContext) {
  for (const index of chunks.keys()) {
    call.signal.throwIfAborted();
    yield await checkpoint.read<ReadChunk>(chunkFile(subject, key, index));
  }
}
