import process from 'node:process';
import { createReadStream } from 'node:fs';
import pLimit from 'p-limit';
import { setMaxListeners } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { counted } from '../../text/wording.ts';
import { sumBy } from '../grouping.ts';
import { noteWritten } from '../outputFiles.ts';
import { showProgress } from '../terminal.ts';
import { END_OF_EXPOSITION, writeMetadata } from '../../exposition/formats.ts';
import { backfillApplication, familyFile } from './backfillApplication.ts';
import { WINDOW_FAMILIES } from '../../metrics/windowFamilies.ts';
import { withAccounts, type LiveAccount, type LiveSession } from '../upstream/session.ts';
import type { CommonOptions } from '../../cli/flags.ts';
import { UsageError } from '../../cli/process.ts';
import type { BackfillOptions } from './backfillFlags.ts';
import { loadState, planBackfill, STATE_FILE, type State } from './planBackfill.ts';
import { type Checkpoint, chooseTarget } from './checkpoint.ts';

/** Renders the OpenMetrics document in pieces. The format requires this order: by family, by series, by time. */
async function* renderDocument(state: State, checkpoint: Checkpoint): AsyncGenerator<string, void, undefined> {
  for (const family of [...WINDOW_FAMILIES.application, ...WINDOW_FAMILIES.host]) {
    const files = state.subjects
      .map((subject) => familyFile(subject, family.name))
      .filter((each) => checkpoint.has(each));
    if (files.length > 0) yield writeMetadata(family, 'openmetrics');
    for (const file of files) yield* createReadStream(checkpoint.file(file), 'utf8') as AsyncIterable<string>;
  }
  yield END_OF_EXPOSITION;
}

interface RunIo {
  /** Unix milliseconds. */
  readonly now: number;
  readonly stdout: NodeJS.WritableStream;
  readonly note: (sentence: string) => void;
  readonly mask: (text: string) => string;
  readonly progress: ReturnType<typeof showProgress>;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

export async function runBackfill(
  flags: CommonOptions & Omit<BackfillOptions, 'from'> & { from?: string },
): Promise<void> {
  const { from } = flags;
  if (from === undefined) throw new UsageError('give --from, the beginning of the range');
  const options = { ...flags, from };
  // A run of hours should survive its terminal, as with nohup.
  process.on('SIGHUP', () => void process.stderr.write('Ignoring the hangup: ctrl-C or SIGTERM ends the backfill.\n'));
  await withAccounts(options, (session) =>
    backfill(session, options, {
      now: Date.now(),
      stdout: process.stdout,
      note: (sentence) => void process.stderr.write(`${session.mask(sentence)}\n`),
      mask: session.mask,
      progress: showProgress('reading'),
      sleep: (ms, signal) => wait(ms, undefined, { signal }),
    }),
  );
}

/** Reads the range, and writes its samples. With an output file, a failed run keeps its data for `--resume`. */
export async function backfill(session: LiveSession, request: BackfillOptions, io: RunIo): Promise<void> {
  const target = chooseTarget(request, io.stdout);
  const { checkpoint } = target;
  if (session.config.accounts.some(({ queries }) => queries.length > 0)) {
    io.note('Skipping queries: a backfill has only the window metrics of applications and hosts.');
  }
  if (session.config.accounts.some(({ counters }) => counters)) {
    io.note('Skipping counters: a counter starts at zero in each exporter, so it has no history.');
  }
  const resumed = request.resume ? await loadState(checkpoint, session, request) : undefined;
  const state = resumed ?? (await planBackfill(session, request, io));
  await target.open();
  try {
    if (resumed === undefined) await checkpoint.write(STATE_FILE, state);
    const written = await readAll(session, state, checkpoint, io);
    await target.write(renderDocument(state, checkpoint), session.signal);
    if (written.samples === 0)
      io.note('There was no data in this range, so no sample: perhaps no application reported then.');
    else if (request.output !== undefined) {
      const content = `${counted(written.samples, 'sample')} of ${counted(written.series, 'series', 'series')}`;
      noteWritten(request.output, content, `promtool tsdb create-blocks-from openmetrics ${request.output}`);
    }
  } catch (error) {
    if (request.output === undefined) await checkpoint.remove();
    else io.note(`Kept the data in ${checkpoint.path}: the same command with --resume continues the run.`);
    throw error;
  }
  await checkpoint.remove();
}

/** Applications of an account in progress. */
const AT_ONCE = 4;

async function readAll(session: LiveSession, state: State, checkpoint: Checkpoint, io: RunIo) {
  const failed = new AbortController();
  const signal = AbortSignal.any([session.signal, failed.signal]);
  // Every waiting call adds a listener. Node would warn about a leak.
  setMaxListeners(0, signal);
  const chunksOf = (accountIndex: number): State['chunks'][number] => state.chunks[accountIndex] ?? [];
  const expected = sumBy(state.subjects, ({ account }) => chunksOf(account).length);
  let done = 0;
  const written = { series: 0, samples: 0 };
  const shared = {
    state,
    checkpoint,
    sleep: (ms: number) => io.sleep(ms, signal),
    mask: io.mask,
    calculating: pLimit(1),
    count: (chunks: number): void => io.progress.update((done += chunks), expected),
  };
  const readAccount = async (account: LiveAccount, accountIndex: number): Promise<void> => {
    const context = { ...shared, account, call: { ...account.call, signal }, chunks: chunksOf(accountIndex) };
    const subjects = state.subjects.filter((subject) => subject.account === accountIndex);
    await pLimit(AT_ONCE).map(subjects, async (subject) => {
      try {
        const { series, samples } = await backfillApplication(subject, context);
        written.series += series;
        written.samples += samples;
      } catch (cause) {
        // The first failure ends the run, because an incomplete document would look complete.
        const { name, id } = subject;
        failed.abort(new Error(`account ${account.config.name}: application ${name} (${id})`, { cause }));
      }
    });
  };
  // Waits for all work even after a failure, so that no work continues after this call.
  await Promise.all(session.accounts.map(readAccount)).finally(() => io.progress.stop());
  failed.signal.throwIfAborted();
  return written;
}
