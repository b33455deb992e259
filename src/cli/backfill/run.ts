import { setMaxListeners } from 'node:events';
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { setTimeout as wait } from 'node:timers/promises';
import { formatDuration } from '../../config/duration.ts';
import { WINDOW } from '../../metrics/window.ts';
import { withAccounts, type LiveSession } from '../upstream/session.ts';
import { showProgress, type Progress } from '../terminal/progress.ts';
import type { CommonOptions } from '../flags/commonFlags.ts';
import { AT_ONCE, backfillApplication, finishedEntities, readSeries } from './backfillApplication.ts';
import { decide, questionOf, type Wish } from './decide.ts';
import { documentText, type DocumentEntity } from './document.ts';
import { inParallel } from './inParallel.ts';
import { loadState, saveState, type State, type Subject } from './state.ts';
import { chooseTarget, type Target, type TargetOptions } from './target.ts';
import { Turns } from './turns.ts';

/** How a run reaches the outside. */
export interface RunIo {
  /** Unix milliseconds. */
  readonly now: number;
  readonly stdout: NodeJS.WritableStream;
  /** Takes a sentence for people. */
  readonly note: (sentence: string) => void;
  readonly progress: Progress;
  /** Rejects when the signal is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

const FAMILIES = [...Object.values(WINDOW.application), ...Object.values(WINDOW.host)];

/** The command `backfill`. Throws an ExitStatus when it fails; the message is already printed. */
export async function runBackfill(options: CommonOptions, request: Wish & TargetOptions): Promise<void> {
  // Nearly everything is garbage at once; without this, the heap grows to several times what is in use before it is collected.
  setFlagsFromString('--optimize-for-size');
  await withAccounts(options, async (session) => {
    await backfill(session, request, {
      now: Date.now(),
      stdout: process.stdout,
      note: (sentence) => void process.stderr.write(`${sentence}\n`),
      progress: showProgress('reading'),
      sleep: (ms, signal) => wait(ms, undefined, { signal }),
    });
  });
}

/**
 * Reads the range, calculates it, and writes the document. Rejects with a UsageError, an Error of one sentence, or the
 * reason of the session's signal; with an output file, what has been read by then is kept for `--resume`.
 */
export async function backfill(session: LiveSession, request: Wish & TargetOptions, io: RunIo): Promise<void> {
  const target = chooseTarget(request, io.stdout);
  const { folder } = target;
  const resumed = request.resume ? await loadState(folder, questionOf(session, request)) : undefined;
  const state = resumed ?? (await decide(session, request, io));
  await target.open();
  try {
    if (resumed === undefined) await saveState(folder, state);
    await readAll(session, state, target, io);
    await target.write(documentText(FAMILIES, await documentEntities(state, target)), session.signal);
  } catch (error) {
    if (!target.resumable) await folder.remove();
    else io.note(`What has been read is kept in ${folder.path}: the same command with --resume goes on.`);
    throw error;
  }
  await folder.remove();
}

/** Reads and calculates every application; all accounts at once, each within its own limits. */
async function readAll(
  { accounts, signal }: LiveSession,
  state: State,
  { folder }: Target,
  { note, progress, sleep }: RunIo,
): Promise<void> {
  const failed = new AbortController();
  const stop = AbortSignal.any([signal, failed.signal]);
  // Every call that waits listens; without this, Node takes more than ten for a leak and says so.
  setMaxListeners(0, stop);
  const chunksOf = (place: number): State['chunks'][number] => state.chunks[place] ?? [];
  const expected = state.subjects.reduce((sum, { account }) => sum + chunksOf(account).length, 0);
  const counter = new Counter(progress, expected);
  const granules = new Set<number>();
  const calculating = new Turns(1);
  const readAccount = async (account: LiveSession['accounts'][number], place: number): Promise<void> => {
    const call = { ...account.call, signal: stop };
    const chunks = chunksOf(place);
    const listeners = {
      expected: (calls: number) => counter.expect(calls - chunks.length),
      done: (chunks: number) => counter.done(chunks),
      otherGranule: (seconds: number) => void granules.add(seconds),
    };
    const context = {
      state,
      folder,
      account,
      call,
      chunks,
      sleep: (ms: number) => sleep(ms, stop),
      reading: new Turns(AT_ONCE),
      calculating,
      ...listeners,
    };
    const subjects = state.subjects.filter((subject) => subject.account === place);
    await inParallel(subjects, AT_ONCE, async (subject) => {
      try {
        await backfillApplication(subject, context);
      } catch (error) {
        // The first failure ends the run: a document that lacks an application would look complete.
        if (!failed.signal.aborted) failed.abort(failureOf(subject, error));
        throw error;
      }
    });
  };
  try {
    await Promise.allSettled(accounts.map(readAccount));
    failed.signal.throwIfAborted();
  } finally {
    progress.stop();
  }
  for (const seconds of granules) {
    note(
      `Some ranges were answered with a timeslice per ${formatDuration(seconds * 1000)}: their samples are as far apart.`,
    );
  }
}

function failureOf({ name, id }: Subject, cause: unknown): Error {
  return new Error(`application ${name} (${id})`, { cause });
}

/** How many calls are expected becomes known application by application. */
class Counter {
  readonly #progress: Progress;
  #expected: number;
  #done = 0;

  constructor(progress: Progress, expected: number) {
    this.#progress = progress;
    this.#expected = expected;
    this.#show();
  }

  expect(more: number): void {
    this.#expected += more;
    this.#show();
  }

  done(more: number): void {
    this.#done += more;
    this.#show();
  }

  #show(): void {
    this.#progress.update(this.#done, this.#expected);
  }
}

async function documentEntities({ subjects }: State, { folder }: Target): Promise<DocumentEntity[]> {
  const entities: DocumentEntity[] = [];
  for (const subject of subjects) {
    for (const entity of await finishedEntities(subject, folder)) {
      const { labels, families } = entity;
      entities.push({
        labels,
        families: new Set(families),
        read: (family) => readSeries(subject, entity, family, folder),
      });
    }
  }
  return entities;
}
