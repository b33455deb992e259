import type { CallOptions } from '../../api/reader.ts';
import type { BatchSize } from '../../collect/metricData.ts';
import type { DatabaseChoice } from '../../formulas/databaseKind.ts';
import { windowSamples } from '../../metrics/window.ts';
import type { LiveAccount } from '../upstream/session.ts';
import { DatabaseTally } from './databaseTally.ts';
import { folderOf, readLayout, type Entity, type Layout } from './entities.ts';
import { inParallel } from './inParallel.ts';
import { readChunk, type ReadChunk } from './readChunk.ts';
import { RollingWindows } from './rollingWindows.ts';
import { SeriesTable, type EntitySeries } from './seriesTable.ts';
import type { State, Subject } from './state.ts';
import type { Turns } from './turns.ts';
import type { WorkFolder } from './workFolder.ts';

/** Applications, and chunks of each, that wait for their turn at once. */
export const AT_ONCE = 4;

export interface ApplicationContext {
  readonly state: State;
  readonly folder: WorkFolder;
  readonly account: LiveAccount;
  readonly size: BatchSize;
  readonly call: CallOptions;
  /** Shared by all applications: answers and tables are what takes memory. */
  readonly reading: Turns;
  readonly calculating: Turns;
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
  const { state, folder, account, call } = context;
  const home = folderOf(subject);
  if (folder.has(finishedFile(subject))) {
    const count = (await finishedEntities(subject, folder)).length * state.chunks.length;
    context.expected(count);
    context.done(count);
    return;
  }
  const layout = await readLayout(subject, account, call, folder);
  await readChunks(home, layout, context);
  const finished = await context.calculating.take(() => calculateAll(home, subject, layout, context));
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

async function readChunks(home: string, { entities, names }: Layout, context: ApplicationContext): Promise<void> {
  const { folder, account, call, size, state } = context;
  const wanted = entities.flatMap((entity) => state.chunks.map((chunk, index) => ({ entity, chunk, index })));
  const missing = wanted.filter(({ entity, index }) => !folder.has(chunkFile(home, entity, index)));
  context.expected(wanted.length);
  context.done(wanted.length - missing.length);
  await inParallel(missing, AT_ONCE, async ({ entity, chunk, index }) => {
    await context.reading.take(async () => {
      const read = await readChunk(account.reader, entity.ids, names, chunk, size, call);
      await folder.write(chunkFile(home, entity, index), read);
      if (read.granule !== chunk.granule) context.otherGranule(read.granule);
    });
    context.done(1);
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
  for await (const chunk of chunksOf(home, APPLICATION, context)) tally.add(chunk);
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
  const windows = new RollingWindows(window, range.from);
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
  { state, folder, call }: ApplicationContext,
): AsyncGenerator<ReadChunk, void, undefined> {
  for (const index of state.chunks.keys()) {
    call.signal.throwIfAborted();
    // Only readChunks writes the file, and only whole.
    yield (await folder.read(chunkFile(home, entity, index))) as ReadChunk;
  }
}
