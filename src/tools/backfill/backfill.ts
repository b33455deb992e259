import process from 'node:process';
import pLimit from 'p-limit';
import { setMaxListeners } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { counted } from '../../text/wording.ts';
import { noteWritten } from '../outputFiles.ts';
import { showProgress } from '../terminal.ts';
import { bracedLabels, labelPairs } from '../../metrics/writeSamples.ts';
import { END_OF_EXPOSITION, metadata } from '../../exposition/formats.ts';
import type { Family } from '../../metrics/family.ts';
import {
  type EntitySeries,
  backfillApplication,
  finishedEntities,
  type FinishedEntity,
  type ApplicationContext,
} from './backfillApplication.ts';
import { WINDOW_FAMILIES } from '../../metrics/windowFamilies.ts';
import { withAccounts, type LiveAccount, type LiveSession } from '../upstream/session.ts';
import type { CommonOptions } from '../../cli/flags.ts';
import type { BackfillOptions } from './backfillFlags.ts';
import { loadState, planBackfill, STATE_FILE, type State } from './planBackfill.ts';
import { type Checkpoint, chooseTarget } from './checkpoint.ts';

const LINES_PER_PIECE = 1_000;

/**
 * The OpenMetrics document in pieces, in the order that the format requires: by family, by series, by time. Only one family of one
 * entity is in memory at a time. What the document has is counted in `written`.
 */
export async function* documentText(
  families: readonly Family[],
  entities: readonly FinishedEntity[],
  mask: (text: string) => string,
  written = { series: 0, samples: 0 },
): AsyncGenerator<string, void, undefined> {
  for (const family of families) {
    const withFamily = entities.filter((entity) => entity.families.includes(family.name));
    if (withFamily.length > 0) yield metadata(family, 'openmetrics');
    for (const entity of withFamily) {
      const pairs = labelPairs(entity.labels);
      for (const series of await entity.read(family.name)) {
        written.series += 1;
        written.samples += series.times.length;
        const labels = mask([...pairs, ...labelPairs(series.labels)].join(','));
        yield* linesOf(family.name + bracedLabels(labels), series);
      }
    }
  }
  yield END_OF_EXPOSITION;
}

function* linesOf(beginning: string, { times, values }: EntitySeries): Generator<string, void, undefined> {
  for (let start = 0; start < times.length; start += LINES_PER_PIECE) {
    const lines = times
      .slice(start, start + LINES_PER_PIECE)
      .map((time, index) => `${beginning}${values[start + index]} ${time}\n`);
    yield lines.join('');
  }
}

/** A run's access to the outside: the time, its output, and waits. */
interface RunIo {
  /** Unix milliseconds. */
  readonly now: number;
  readonly stdout: NodeJS.WritableStream;
  /** Writes a sentence for the user. */
  readonly note: (sentence: string) => void;
  /** Hides keys in a text. */
  readonly mask: (text: string) => string;
  readonly progress: ReturnType<typeof showProgress>;
  /** Rejects when the signal is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

const FAMILIES = [...WINDOW_FAMILIES.application, ...WINDOW_FAMILIES.host];

/** The command `backfill`. Throws an ExitStatus when it fails; the message is already printed. */
export async function runBackfill(options: CommonOptions & BackfillOptions): Promise<void> {
  // A run of hours outlives the terminal that started it, as with nohup.
  process.on('SIGHUP', () => void process.stderr.write('A hangup does not end a backfill: ctrl-C or SIGTERM does.\n'));
  await withAccounts(options, async (session) => {
    await backfill(session, options, {
      now: Date.now(),
      stdout: process.stdout,
      note: (sentence) => void process.stderr.write(`${session.mask(sentence)}\n`),
      mask: session.mask,
      progress: showProgress('reading'),
      sleep: (ms, signal) => wait(ms, undefined, { signal }),
    });
  });
}

/**
 * Reads the range, calculates its samples, and writes the document. Rejects with a UsageError, an Error of one sentence, or the
 * reason of the session's signal; with an output file, the data read by then is kept for `--resume`.
 */
export async function backfill(session: LiveSession, request: BackfillOptions, io: RunIo): Promise<void> {
  const target = chooseTarget(request, io.stdout);
  const { checkpoint } = target;
  if (session.config.accounts.some(({ queries }) => queries.length > 0)) {
    io.note('Queries are left out: a backfill has the window metrics of applications and hosts.');
  }
  if (session.config.accounts.some(({ counters }) => counters)) {
    io.note('Counters are not written: a counter starts at zero with each exporter, so that it has no history.');
  }
  const resumed = request.resume ? await loadState(checkpoint, session, request) : undefined;
  const state = resumed ?? (await planBackfill(session, request, io));
  await target.open();
  try {
    if (resumed === undefined) await checkpoint.write(STATE_FILE, state);
    await readAll(session, state, checkpoint, io);
    const entities: FinishedEntity[] = [];
    // One after the other, because all together could exceed the number of files that a process may open.
    for (const subject of state.subjects) entities.push(...(await finishedEntities(subject, checkpoint)));
    const written = { series: 0, samples: 0 };
    await target.write(documentText(FAMILIES, entities, io.mask, written), session.signal);
    if (written.samples === 0)
      io.note(
        'There was no data in this range: the document has no samples. The applications may not have reported then.',
      );
    else if (request.output !== undefined) {
      const content = `${counted(written.samples, 'sample')} of ${counted(written.series, 'series', 'series')}`;
      noteWritten(request.output, content, `promtool tsdb create-blocks-from openmetrics ${request.output}`);
    }
  } catch (error) {
    if (request.output === undefined) await checkpoint.remove();
    else io.note(`What has been read is kept in ${checkpoint.path}: the same command with --resume continues.`);
    throw error;
  }
  await checkpoint.remove();
}

/** Limit for the applications of an account that are worked on at the same time, and for its calls at once. */
const AT_ONCE = 4;

/** Reads and calculates every application; all accounts at the same time, each within its own limits. */
async function readAll(session: LiveSession, state: State, checkpoint: Checkpoint, io: RunIo): Promise<void> {
  const failed = new AbortController();
  const signal = AbortSignal.any([session.signal, failed.signal]);
  // Every waiting call listens; Node takes more than ten listeners for a leak and warns.
  setMaxListeners(0, signal);
  // Chunks of all entities. At first each application counts without its hosts, which become known one by one.
  let expected = state.subjects.reduce((sum, { account }) => sum + chunksOf(state, account).length, 0);
  let done = 0;
  const count = (read: number, more = 0): void => {
    done += read;
    expected += more;
    io.progress.update(done, expected);
  };
  count(0);
  const shared = {
    state,
    checkpoint,
    sleep: (ms: number) => io.sleep(ms, signal),
    calculating: pLimit(1),
    count,
  };
  const readAccount = async (account: LiveAccount, accountIndex: number): Promise<void> => {
    const chunks = chunksOf(state, accountIndex);
    const context: ApplicationContext = {
      ...shared,
      account,
      call: { ...account.call, signal },
      chunks,
      reading: pLimit(AT_ONCE),
      fail: ({ name, id }, cause) =>
        failed.abort(new Error(`account ${account.config.name}: application ${name} (${id})`, { cause })),
    };
    const subjects = state.subjects.filter((subject) => subject.account === accountIndex);
    await pLimit(AT_ONCE).map(subjects, (subject) =>
      backfillApplication(subject, context).catch((error: unknown) => context.fail(subject, error)),
    );
  };
  // Even after a failure all started work is awaited, so that none continues after this call.
  await Promise.all(session.accounts.map(readAccount)).finally(() => io.progress.stop());
  failed.signal.throwIfAborted();
}

/** The chunks of the account at this index of the configuration. */
function chunksOf({ chunks }: State, accountIndex: number): State['chunks'][number] {
  return chunks[accountIndex] ?? [];
}
