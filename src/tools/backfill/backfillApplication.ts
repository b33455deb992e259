import { backoff } from '../../api/backoff.ts';
import type { LimitFunction } from 'p-limit';
import { UpstreamError, type FailureReason } from '../../api/upstreamError.ts';
import {
  type CallOptions,
  type MetricDataSubject,
  type MetricSeries,
  type PlannedCall,
  type SeriesChunk,
  planAll,
} from '../../api/upstreamReader.ts';
import type { FamilyScope, Labels, Sample } from '../../metrics/family.ts';
import { queryNames, windowSamples } from '../../metrics/windowFamilies.ts';
import { readOne, readPlanned } from '../upstream/readForCommand.ts';
import type { LiveAccount } from '../upstream/session.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { BackfillSubject, State } from './planBackfill.ts';
import type { Columns } from '../../formulas/metricInputs.ts';
import { databaseKind, type DatabaseChoice } from '../../formulas/derivedValues.ts';
import { type ReadChunk, addCalls, RollingWindows } from './rollingWindows.ts';

const TRANSIENT: ReadonlySet<FailureReason> = new Set(['timeout', 'network', 'server', 'rate_limited']);

/** The key of the application itself among its entities. */
const APPLICATION = 'application';

const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 60_000;
const MAX_ATTEMPTS = 6;

/**
 * Reads, and repeats the read after a transient failure, at most six times in all, so that a minute of trouble does not end a run of
 * hours. `sleep` waits milliseconds, and rejects when the run is stopped.
 */
export async function persistently<T>(read: () => Promise<T>, sleep: (ms: number) => Promise<void>): Promise<T> {
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

/** One series: as many times (Unix seconds) as values. Also its form on disk. */
export interface EntitySeries {
  /** Labels beyond those of the application or host. */
  readonly labels: Labels;
  readonly times: number[];
  readonly values: number[];
}

/** Adds samples to the series by family, then by the values of their labels, as they first appeared. */
export function addSamples(
  table: Map<string, Map<string, EntitySeries>>,
  time: number,
  samples: readonly Sample[],
): void {
  for (const { family, labels = {}, value } of samples) {
    if (!Number.isFinite(value)) continue;
    const ofFamily = table.get(family.name) ?? new Map<string, EntitySeries>();
    table.set(family.name, ofFamily);
    const key = Object.values(labels).join('\0');
    const series = ofFamily.get(key) ?? { labels, times: [], values: [] };
    ofFamily.set(key, series);
    series.times.push(time);
    series.values.push(value);
  }
}

interface BackfillEntity {
  /** The part of its file names that is unique in its application. */
  readonly key: string;
  readonly scope: FamilyScope;
  readonly hostKey?: string;
  readonly names: readonly string[];
  readonly labels: Labels;
}

/** The application and its hosts, with the metric names to request; from disk when an earlier run has read them. */
async function readEntities(subject: BackfillSubject, context: ApplicationContext): Promise<readonly BackfillEntity[]> {
  const { state, account, call, checkpoint } = context;
  const [{ range }, { reader }] = [state, account];
  const file = `${folderOf(subject)}/layout.json`;
  // Only this function writes the file, so its form is known.
  if (checkpoint.has(file)) return (await checkpoint.read(file)) as readonly BackfillEntity[];
  const applicationId = subject.id;
  const datastores = reader.datastores && (await readOne(reader.datastores, { applicationId }, range, call));
  const hosts = subject.hosts ? await readOne(reader.hosts, { applicationId }, range, call) : [];
  const namesOf = (scope: FamilyScope): string[] => queryNames(datastores ?? [], scope, reader.api);
  const entities: BackfillEntity[] = [
    { key: APPLICATION, scope: 'application', names: namesOf('application'), labels: subject.labels },
    // By index: a host's name may contain characters that a file name may not.
    ...hosts.map(({ key, host }, position) => ({
      key: `host-${position}`,
      scope: 'host' as const,
      hostKey: key,
      names: namesOf('host'),
      // In the order of the daemon.
      labels: { account: '', app: '', app_id: '', host, host_id: key, ...subject.labels },
    })),
  ];
  await checkpoint.write(file, entities);
  return entities;
}

/** The folder of an application inside the checkpoint; ids are unique only within an account. */
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
  /** Waits the given milliseconds; rejects when the run is stopped. */
  readonly sleep: (ms: number) => Promise<void>;
  /** Shared by the applications of the account, so that one account's waits delay no other. */
  readonly reading: LimitFunction;
  /** Shared by all applications, because tables take memory. */
  readonly calculating: LimitFunction;
  /** Ends the run: calls under way are aborted, and no further work starts. */
  readonly fail: (subject: BackfillSubject, error: unknown) => void;
  /** Counts chunks as done, and further ones as expected: the hosts of an application become known one after the other. */
  readonly count: (done: number, more?: number) => void;
}

/** Reads an application chunk by chunk, and writes its calculated series to disk. Finished work is not repeated. */
export async function backfillApplication(subject: BackfillSubject, context: ApplicationContext): Promise<void> {
  const { checkpoint, call, chunks, sleep } = context;
  call.signal.throwIfAborted();
  if (checkpoint.has(finishedFile(subject))) {
    const count = (await finishedEntities(subject, checkpoint)).length * chunks.length;
    context.count(count, count - chunks.length);
    return;
  }
  const entities = await persistently(() => readEntities(subject, context), sleep);
  await readChunks(subject, entities, context);
  await context.calculating(async () => {
    const database = await chooseDatabase(subject, context);
    const finished = [];
    for (const entity of entities) {
      finished.push({ ...entity, families: await calculate(subject, entity, database, context) });
    }
    await checkpoint.write(finishedFile(subject), finished);
  });
  await checkpoint.remove(`${folderOf(subject)}/read`);
}

/** An application or host whose series are on disk. */
export type FinishedEntity = Awaited<ReturnType<typeof finishedEntities>>[number];

/** An application and its hosts after backfillApplication has finished them. */
export async function finishedEntities(subject: BackfillSubject, checkpoint: Checkpoint) {
  // Only this module writes these files, so their form is known.
  const written = await checkpoint.read(finishedFile(subject));
  return (written as readonly (BackfillEntity & { readonly families: readonly string[] })[]).map((entity) => ({
    labels: entity.labels,
    families: entity.families,
    /** The series of a family. */
    read: async (family: string) =>
      (await checkpoint.read(seriesFile(subject, entity, family))) as readonly EntitySeries[],
  }));
}

function seriesFile(subject: BackfillSubject, { key }: BackfillEntity, family: string): string {
  return `${folderOf(subject)}/series/${key}/${family}.json`;
}

function finishedFile(subject: BackfillSubject): string {
  return `${folderOf(subject)}/finished.json`;
}

function chunkFile(subject: BackfillSubject, key: string, index: number): string {
  return `${folderOf(subject)}/read/${key}/${index}.json`;
}

/** Reads the missing chunks of an application and its hosts. */
async function readChunks(
  subject: BackfillSubject,
  entities: readonly BackfillEntity[],
  context: ApplicationContext,
): Promise<void> {
  const { checkpoint, account, call, chunks, reading, sleep } = context;
  const { metricSeries } = account.reader;
  const entityOf = new Map<MetricDataSubject, BackfillEntity>(
    entities.map((each) => [
      { applicationId: subject.id, hostKey: each.hostKey, metrics: { names: each.names } },
      each,
    ]),
  );
  context.count(0, (entities.length - 1) * chunks.length);
  const planCalls = function* () {
    for (const [index, chunk] of chunks.entries()) {
      const missing = [...entityOf].filter(([, entity]) => !checkpoint.has(chunkFile(subject, entity.key, index)));
      context.count(entities.length - missing.length);
      const subjects = missing.map(([read]) => read);
      for (const planned of planAll(metricSeries, subjects, chunk)) yield { chunk, index, planned };
    }
  };
  const readCall = async (chunk: SeriesChunk, index: number, planned: PlannedCall<MetricDataSubject, MetricSeries>) => {
    const left = new Set(planned.subjects);
    let next = planned;
    const readNext = async (): Promise<void> => {
      call.signal.throwIfAborted();
      let failure: UpstreamError | undefined;
      for (const [read, outcome] of await readPlanned(next, call)) {
        const entity = entityOf.get(read);
        if (entity === undefined) continue;
        if ('error' in outcome) {
          failure ??= outcome.error;
          continue;
        }
        const { from, to } = chunk;
        const written: ReadChunk = { from, to, ...outcome.value };
        await checkpoint.write(chunkFile(subject, entity.key, index), written);
        left.delete(read);
        context.count(1);
      }
      if (left.size > 0) next = metricSeries.plan(left, chunk);
      if (failure !== undefined) throw failure;
    };
    while (left.size > 0) await persistently(readNext, sleep);
  };
  // A call is planned when it can start, because earlier calls tell the reader sizes, and what to read apart.
  const calls = planCalls();
  const readCalls = async (): Promise<void> => {
    for (const { chunk, index, planned } of calls) await readCall(chunk, index, planned);
  };
  // The first failure ends the run, because a document that lacks a part would look complete.
  const fail = (error: unknown): void => context.fail(subject, error);
  await Promise.all(Array.from({ length: reading.concurrency }, () => reading(() => readCalls().catch(fail))));
  call.signal.throwIfAborted();
}

async function chooseDatabase(
  subject: BackfillSubject,
  context: ApplicationContext,
): Promise<DatabaseChoice | undefined> {
  const calls = new Map<string, Pick<Columns, 'count'>>();
  const windows = new RollingWindows(0, -Infinity, context.account.reader.metricSeries);
  for await (const chunk of chunksOf(subject, APPLICATION, context)) {
    for (const { values } of windows.add(chunk)) addCalls(calls, values);
  }
  return databaseKind({ seconds: Infinity, metrics: calls }, subject.language, subject.database);
}

/** Writes the series of an entity, one file per family; gives the names of the families. */
async function calculate(
  subject: BackfillSubject,
  entity: BackfillEntity,
  database: DatabaseChoice | undefined,
  context: ApplicationContext,
): Promise<string[]> {
  const { range, window } = context.state;
  const windows = new RollingWindows(window, range.from, context.account.reader.metricSeries);
  const table = new Map<string, Map<string, EntitySeries>>();
  for await (const chunk of chunksOf(subject, entity.key, context)) {
    for (const { time, values } of windows.add(chunk))
      addSamples(table, time, windowSamples(entity.scope, values, database));
  }
  for (const [name, series] of table)
    await context.checkpoint.write(seriesFile(subject, entity, name), [...series.values()]);
  return [...table.keys()];
}

async function* chunksOf(
  subject: BackfillSubject,
  key: string,
  { chunks, checkpoint, call }: ApplicationContext,
): AsyncGenerator<ReadChunk, void, undefined> {
  for (const index of chunks.keys()) {
    call.signal.throwIfAborted();
    // Only readChunks writes the file, so its form is known.
    yield (await checkpoint.read(chunkFile(subject, key, index))) as ReadChunk;
  }
}
