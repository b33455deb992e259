import type { CallOptions, SeriesChunk } from '../../api/reader.ts';
import type { DatabaseChoice } from '../../formulas/databaseKind.ts';
import { windowSamples } from '../../metrics/window.ts';
import { inBatches, valueOf } from '../upstream/reading.ts';
import type { LiveAccount } from '../upstream/session.ts';
import type { ReadChunk } from './chunk.ts';
import { DatabaseTally } from './databaseTally.ts';
import { folderOf, readLayout, subjectOf, type Entity, type Layout } from './entities.ts';
import { inParallel } from './inParallel.ts';
import { persistently } from './persistently.ts';
import { RollingWindows } from './rollingWindows.ts';
import { SeriesTable, type EntitySeries } from './seriesTable.ts';
import type { State, Subject } from './state.ts';
import type { Semaphore } from './semaphore.ts';
import type { WorkFolder } from './workFolder.ts';

/** Applications of an account that are worked on at once, chunks of each that are asked for at once, and calls of the account. */
export const AT_ONCE = 4;

export interface ApplicationContext {
  readonly state: State;
  readonly folder: WorkFolder;
  readonly account: LiveAccount;
  readonly call: CallOptions;
  /** What the account is read by, oldest first. */
  readonly chunks: readonly SeriesChunk[];
  /** Waits so many milliseconds; rejects when the run is stopped. */
  readonly sleep: (ms: number) => Promise<void>;
  /** Shared by the applications of the account, so that one account's waits hold up no other. */
  readonly reading: Semaphore;
  /** Shared by all applications, because tables take memory. */
  readonly calculating: Semaphore;
  /** Told how many calls' worth of an application there are, once known, and of each that is done. */
  readonly expected: (chunks: number) => void;
  readonly done: (chunks: number) => void;
  /** Told when upstream answered timeslices of another length than planned, in seconds. */
  readonly otherGranule: (seconds: number) => void;
}

/** An entity whose series are on disk, and in which families they are; also how it is written to disk. */
export interface FinishedEntity extends Entity {
  readonly families: readonly string[];
}

/**
 * Reads one application chunk by chunk and calculates its series, all on disk: what an earlier run has finished is not
 * read again, and nothing of an application stays in memory.
 */
export async function backfillApplication(subject: Subject, context: ApplicationContext): Promise<void> {
  const { state, folder, account, call, chunks, sleep } = context;
  const home = folderOf(subject);
  if (folder.has(finishedFile(subject))) {
    const count = (await finishedEntities(subject, folder)).length * chunks.length;
    context.expected(count);
    context.done(count);
    return;
  }
  const layout = await persistently(() => readLayout(subject, state.range, account, call, folder), sleep);
  await readChunks(home, layout, context);
  const finished = await context.calculating.run(() => calculateAll(home, subject, layout, context));
  await folder.write(finishedFile(subject), finished);
  await folder.remove(`${home}/read`);
}

/** The entities of an application that backfillApplication has finished. */
export async function finishedEntities(subject: Subject, folder: WorkFolder): Promise<readonly FinishedEntity[]> {
  // Only this module writes the file, and only whole.
  return (await folder.read(finishedFile(subject))) as readonly FinishedEntity[];
}

/** The series of a finished entity in one of its families. */
export async function readSeries(
  subject: Subject,
  entity: FinishedEntity,
  family: string,
  folder: WorkFolder,
): Promise<readonly EntitySeries[]> {
  // Only this module writes the file, and only whole.
  return (await folder.read(seriesFile(folderOf(subject), entity, family))) as readonly EntitySeries[];
}

function seriesFile(home: string, entity: Entity, family: string): string {
  return `${home}/series/${entity.key}/${family}.json`;
}

function finishedFile(subject: Subject): string {
  return `${folderOf(subject)}/finished.json`;
}

function chunkFile(home: string, entity: Pick<Entity, 'key'>, index: number): string {
  return `${home}/read/${entity.key}/${index}.json`;
}

async function readChunks(home: string, { entities }: Layout, context: ApplicationContext): Promise<void> {
  const { folder, account, call, chunks, sleep } = context;
  const read = account.reader.metricSeries;
  context.expected(entities.length * chunks.length);
  const calls = chunks.flatMap((chunk, index) => {
    const missing = entities.filter((entity) => !folder.has(chunkFile(home, entity, index)));
    context.done(entities.length - missing.length);
    const bySubject = new Map(missing.map((entity) => [subjectOf(entity), entity]));
    return inBatches(read, [...bySubject.keys()], chunk).map((subjects) => ({
      chunk,
      index,
      subjects,
      entities: subjects.flatMap((subject) => bySubject.get(subject) ?? []),
    }));
  });
  await inParallel(calls, AT_ONCE, async ({ chunk, index, subjects, entities: ofCall }) => {
    await context.reading.run(async () => {
      // The first failure is thrown: a document that lacks a part would look complete.
      const series = await persistently(async () => (await read.read(subjects, chunk, call)).map(valueOf), sleep);
      for (const [place, entity] of ofCall.entries()) {
        const ofEntity = series[place];
        if (ofEntity === undefined) throw new Error('the reader gave no series for its subject');
        const { from, to } = chunk;
        await folder.write(chunkFile(home, entity, index), { from, to, ...ofEntity } satisfies ReadChunk);
        if (ofEntity.granule !== chunk.granule) context.otherGranule(ofEntity.granule);
      }
    });
    context.done(ofCall.length);
  });
}

async function calculateAll(
  home: string,
  subject: Subject,
  { entities }: Layout,
  context: ApplicationContext,
): Promise<FinishedEntity[]> {
  const database = await chooseDatabase(home, subject, context);
  const finished: FinishedEntity[] = [];
  for (const entity of entities) {
    finished.push({ ...entity, families: await calculate(home, entity, database, context) });
  }
  return finished;
}

async function chooseDatabase(
  home: string,
  subject: Subject,
  context: ApplicationContext,
): Promise<DatabaseChoice | undefined> {
  const tally = new DatabaseTally();
  const windows = new RollingWindows(0, -Infinity, context.account.reader.metricSeries);
  for await (const chunk of chunksOf(home, APPLICATION, context)) {
    for (const { values } of windows.add(chunk)) tally.add(values);
  }
  return tally.choose(subject.language, subject.database);
}

const APPLICATION = { key: 'application' } as const;

/** Writes the series of an entity, one file per family; gives the families it has. */
async function calculate(
  home: string,
  entity: Entity,
  database: DatabaseChoice | undefined,
  context: ApplicationContext,
): Promise<string[]> {
  const { range, window } = context.state;
  const windows = new RollingWindows(window, range.from, context.account.reader.metricSeries);
  const table = new SeriesTable();
  for await (const chunk of chunksOf(home, entity, context)) {
    for (const { time, values } of windows.add(chunk)) table.add(time, windowSamples(entity.scope, values, database));
  }
  const families = table.families();
  for (const [name, series] of families) await context.folder.write(seriesFile(home, entity, name), series);
  return families.map(([name]) => name);
}

async function* chunksOf(
  home: string,
  entity: Pick<Entity, 'key'>,
  { chunks, folder, call }: ApplicationContext,
): AsyncGenerator<ReadChunk, void, undefined> {
  for (const index of chunks.keys()) {
    call.signal.throwIfAborted();
    // Only readChunks writes the file, and only whole.
    yield (await folder.read(chunkFile(home, entity, index))) as ReadChunk;
  }
}
