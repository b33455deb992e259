import type { Application } from '../../api/types.ts';
import { isDeepStrictEqual } from 'node:util';
import { effectiveSettings, onlyIds, readsMetricData, selects } from '../../collect/inventory/selection.ts';
import { applicationLabels } from '../../metrics/listedFamilies.ts';
import type { LiveAccount, LiveSession } from '../upstream/session.ts';
import { findApplications, selectFound, listApplications } from '../upstream/readForCommand.ts';
import type { Checkpoint } from './checkpoint.ts';
import { UsageError } from '../../cli/process.ts';
import { VERSION } from '../../cli/version.ts';
import { formatDuration } from '../../config/duration.ts';
import { formatMinute } from '../terminal.ts';
import { type BackfillOptions, resolveRange } from './backfillFlags.ts';
import type { SeriesChunk, SeriesLimits, TimeRange } from '../../api/upstreamReader.ts';
import { DAY_S, HOUR_S, MINUTE_MS, MINUTE_S } from '../../formulas/units.ts';

async function findSubjects(accounts: readonly LiveAccount[], options: BackfillOptions) {
  for (const { config } of accounts) {
    const taken = Object.keys(options.label).find((name) => Object.hasOwn(config.labels, name));
    if (taken !== undefined) throw new UsageError(`--label ${taken}: account ${config.name} has a label of that name`);
  }
  const named = options.app.length > 0 ? await findApplications(accounts, options.app) : undefined;
  const subjects: BackfillSubject[] = [];
  let notReporting = 0;
  for (const [index, account] of accounts.entries()) {
    const candidates = named === undefined ? await readIncluded(account) : selectFound(account, named);
    for (const application of candidates) {
      // A user who names an application wants its history, even if it does not report now.
      if (named === undefined && !readsMetricData(account.config, application)) notReporting += 1;
      else subjects.push(toSubject(account, index, application, options));
    }
  }
  return { subjects, notReporting };
}

async function readIncluded(account: LiveAccount): Promise<Application[]> {
  const { applications } = account.config;
  const ids = onlyIds(applications);
  const list = await listApplications(account, ids === undefined ? {} : { ids });
  return list.filter((application) => selects(applications, application));
}

export type BackfillSubject = ReturnType<typeof toSubject>;

function toSubject({ config }: LiveAccount, account: number, application: Application, options: BackfillOptions) {
  const { database, hosts } = effectiveSettings(config, application);
  return {
    /** Index of the account in the configuration. */
    account,
    id: application.id,
    name: application.name,
    language: application.language,
    labels: { ...applicationLabels(config, application), ...options.label },
    database,
    hosts: options.hosts && hosts,
  };
}

/** Returns the flags and settings that change the output. They must be the same in a resumed run. */
function buildResumeKey({ accounts, config }: LiveSession, request: BackfillOptions): Record<string, unknown> {
  return {
    '--from': request.from,
    '--to': request.to ?? '',
    '--window': formatDuration(chooseWindow(config.collection.window, request) * 1000),
    '--app': [...request.app],
    '--hosts': request.hosts,
    '--label': { ...request.label },
    accounts: accounts.map((account) => `${account.config.name} ${account.config.base_url}`),
    raw_values: config.collection.raw_values,
  };
}

export const STATE_FILE = 'state.json';

/** The decisions at the start of a run. A resumed run keeps them. */
export type State = Awaited<ReturnType<typeof planBackfill>>;

/** Loads the decisions of an interrupted run, if any. Rejects with a UsageError for another request or version. */
export async function loadState(checkpoint: Checkpoint, session: LiveSession, request: BackfillOptions) {
  if (!checkpoint.has(STATE_FILE)) return undefined;
  const state = await checkpoint.read<State>(STATE_FILE);
  if (state.version !== VERSION) {
    throw new UsageError(`${checkpoint.path} comes from another version of the program: start anew with --force`);
  }
  const requested = buildResumeKey(session, request);
  const others = Object.keys(requested).filter((key) => !isDeepStrictEqual(state.resumeKey[key], requested[key]));
  if (others.length > 0) {
    throw new UsageError(
      `the interrupted run in ${checkpoint.path} had other settings (${others.join(', ')}): ` +
        'repeat its flags, or start anew with --force',
    );
  }
  return state;
}

/** Plans a run. `now` is in Unix milliseconds. Rejects if it has nothing to read. */
export async function planBackfill(
  session: LiveSession,
  request: BackfillOptions,
  { now, note }: { readonly now: number; readonly note: (sentence: string) => void },
) {
  const { accounts, config } = session;
  const range = resolveRange(request, now, config.collection.delay);
  const window = chooseWindow(config.collection.window, request);
  const chunks = accounts.map(({ reader }) => planChunks(range, window, now / 1000, reader.metricSeries.limits));
  if (chunks.some(({ length }) => length === 0)) {
    throw new UsageError('New Relic keeps only hours from that time, and no whole hour ends between --from and --to');
  }
  const { subjects, notReporting } = await findSubjects(accounts, request);
  if (notReporting > 0) note(`Skipping applications that do not report now: ${notReporting}; --app reads them anyway.`);
  if (subjects.length === 0) throw new Error('there is no application to backfill: the command discover lists them');
  if (request.hosts && !subjects.some(({ hosts }) => hosts)) {
    note('The configuration switches the hosts of these applications off: there are no host series.');
  }
  const hours = chunks.flat().filter(({ granule }) => granule > MINUTE_S);
  const lastHour = hours.length === 0 ? undefined : Math.max(...hours.map(({ to }) => to));
  note(
    `Applications: ${subjects.length}; from ${formatMinute(range.from)} to ${formatMinute(range.to)}; ` +
      `${describeResolution(lastHour, range.to)}; windows of ${formatDuration(window * 1000)}.`,
  );
  // `window` is in seconds. `chunks` has a list for each account.
  return { version: VERSION, resumeKey: buildResumeKey(session, request), range, window, chunks, subjects };
}

/** Returns the window in seconds, rounded to whole minutes. `configured` is in milliseconds. */
function chooseWindow(configured: number, { window = configured }: BackfillOptions): number {
  return Math.max(MINUTE_S, Math.floor(window / MINUTE_MS) * MINUTE_S);
}

/** Describes the resolution of the data. `lastHour` is the end of the hourly part, if any. */
function describeResolution(lastHour: number | undefined, to: number): string {
  if (lastHour === undefined) return 'a sample per minute';
  const hourly = 'a sample per hour, because New Relic keeps no minutes for longer than 8 days';
  return lastHour + HOUR_S > to ? hourly : `${hourly}, and from ${formatMinute(lastHour)} on a sample per minute`;
}

/** New Relic keeps older data by the hour (New Relic's page "Extract metric timeslice data"). */
const BY_MINUTE_UP_TO = 8 * DAY_S;
/** Margin for a long backfill: New Relic may drop the oldest minutes before the run reads them. */
const MARGIN = HOUR_S;

/**
 * Plans the chunks for a range of samples, oldest first. A sample covers the window that ends at its time, so the
 * chunks begin before the range. Chunks have minutes as far back as New Relic keeps minutes, and hours before. No
 * sample may mix minutes and hours, so the minutes begin one window early.
 *
 * @param window seconds, whole minutes
 * @param now Unix seconds
 */
export function planChunks(range: TimeRange, window: number, now: number, limits: SeriesLimits): SeriesChunk[] {
  const oldestMinute = Math.ceil((now - BY_MINUTE_UP_TO + MARGIN) / MINUTE_S) * MINUTE_S;
  if (range.from - window >= oldestMinute) return planMinutes(range.from - window, range.to, limits);
  const change = Math.ceil((oldestMinute + window) / HOUR_S) * HOUR_S;
  const hoursEnd = Math.min(change, Math.floor(range.to / HOUR_S) * HOUR_S);
  const lead = window % HOUR_S === 0 ? window : HOUR_S;
  const hours = planHours(Math.floor(range.from / HOUR_S) * HOUR_S + HOUR_S - lead, hoursEnd, limits);
  return change < range.to ? [...hours, ...planMinutes(change - window, range.to, limits)] : hours;
}

/** Plans chunks of minutes. Aligns long chunks to New Relic's steps. The last chunk is short and needs no alignment. */
function planMinutes(from: number, to: number, { longestByMinute, stepOf }: SeriesLimits): SeriesChunk[] {
  const chunks: SeriesChunk[] = [];
  for (let start = from; start < to; start = chunks.at(-1)?.to ?? to) {
    const end = Math.min(to, start + longestByMinute);
    const step = stepOf(end - start);
    const last = end - start > step ? Math.floor(end / step) * step : end;
    chunks.push({ from: start, to: last, readFrom: Math.floor(start / step) * step, granule: MINUTE_S });
  }
  return chunks;
}

function planHours(from: number, to: number, { longestByHour, shortestByHour }: SeriesLimits): SeriesChunk[] {
  const count = Math.max(0, Math.ceil((to - from) / longestByHour));
  return Array.from({ length: count }, (_, index) => {
    const start = from + index * longestByHour;
    const end = Math.min(to, start + longestByHour);
    return { from: start, to: end, readFrom: Math.min(start, end - shortestByHour), granule: HOUR_S };
  });
}
