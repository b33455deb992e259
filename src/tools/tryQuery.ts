import process from 'node:process';
import { stringify } from 'yaml';
import type { QueryResult } from '../api/upstreamReader.ts';
import { windowAt } from '../collect/inventory/window.ts';
import { endsBefore } from '../collect/inventory/task.ts';
import type { AccountConfig, Config } from '../config/config.ts';
import { formatDuration } from '../config/duration.ts';
import { counted, suggest } from '../text/wording.ts';
import { findLabelProblem, readQueries } from '../config/queries.ts';
import { findNameProblem } from '../config/schema/customMetric.ts';
import { PACKS } from '../config/schema/query.ts';
import { escapePlaceholders } from '../config/yaml/placeholders.ts';
import { writeExposition, findFamilies } from '../exposition/exposition.ts';
import { SeriesMask } from '../exposition/seriesMask.ts';
import { prepareQueries, querySamples, type QueryDefinition } from '../metrics/queryFamilies.ts';
import { packSamples, writeLabels } from '../metrics/writeSamples.ts';
import { Secrets } from '../log/secrets.ts';
import { Facets } from '../nrql/facets.ts';
import { describeColumnProblems, isRecord, readRows } from '../nrql/queryRows.ts';
import { defaultLabel, readStatement } from '../nrql/statement.ts';
import type { CommonOptions } from '../cli/flags.ts';
import { UsageError, colourLines } from '../cli/process.ts';
import { formatMinute, renderJson, renderTable } from './terminal.ts';
import { readOne, createReadError } from './upstream/readForCommand.ts';
import { requireSingleAccount, withAccounts } from './upstream/session.ts';

interface QueryOptions extends CommonOptions {
  readonly name?: string;
  readonly account?: string;
  /** Milliseconds, as `delay`. */
  readonly window?: number;
  readonly delay?: number;
  readonly format: 'table' | 'json' | 'yaml' | 'metrics';
}

/** Runs the command `query`: one query from the command line or from the configuration. */
export async function tryQuery(nrql: string | undefined, options: QueryOptions): Promise<void> {
  await withAccounts(
    options,
    async ({ accounts: [account], config, print }) => {
      const definition = account?.config.queries[0];
      if (account?.reader.queries === undefined || definition === undefined)
        throw new Error('there is no query to run');
      const range = windowAt(Date.now(), config.collection);
      const { rules } = prepareQuery(definition);
      const window = definition.window === undefined ? undefined : definition.window / 1000;
      const before = endsBefore(definition.delay, config.collection.delay);
      const subject = { nrql: definition.nrql, window, endsBefore: before, rules };
      const what = options.name === undefined ? 'the query' : `the query "${options.name}"`;
      const result = await readOne(account.reader.queries, subject, range, account.call).catch((error: unknown) => {
        throw createReadError(account, what, error);
      });
      const { from, to } = result.window;
      const rows = counted(result.rows.length, 'row');
      process.stderr.write(`${rows}, from ${formatMinute(from)} to ${formatMinute(to)}\n`);
      const published = readPublished(account.config, definition, result);
      for (const problem of describeColumnProblems(published.reading)) {
        process.stderr.write(colourLines(`warning: the query has ${problem}\n`, process.stderr));
      }
      const formats = {
        table: () => renderRows(definition, result),
        json: () => {
          const query = { query: definition.name, nrql: definition.nrql };
          return renderJson({ account: account.config.name, ...query, window: result.window, rows: result.rows });
        },
        yaml: () => renderQueryYaml(definition, findColumns(definition, result), Object.keys(account.config.labels)),
        metrics: () => renderExposition(account.config, published),
      };
      print(await formats[options.format]());
    },
    (config) => selectQuery(config, nrql, options),
  );
}

function selectQuery(config: Config, nrql: string | undefined, { name, window, delay }: QueryOptions): Config {
  if ((nrql === undefined) === (name === undefined)) throw new UsageError('give either a query or --name');
  const withQuery = config.accounts.flatMap((account) => {
    const query = nrql === undefined ? account.queries.find((each) => each.name === name) : { ...TYPED_QUERY, nrql };
    if (query === undefined) return [];
    return { ...account, queries: [{ ...query, window: window ?? query.window, delay: delay ?? query.delay }] };
  });
  if (withQuery.length === 0) throw new UsageError(describeUnknownQuery(name ?? '', config));
  const account = requireSingleAccount({ ...config, accounts: withQuery });
  const [problem] = readStatement(account.queries[0]?.nrql ?? '').problems;
  if (problem !== undefined) {
    const isTime = nrql !== undefined && /^(?:since|until)\b/i.test(nrql.slice(problem.offset));
    const message = isTime
      ? 'flags set the time of a query: remove it, and give --window and --delay'
      : problem.message;
    throw new UsageError(`the query, character ${problem.offset + 1}: ${message}`);
  }
  if (account.api === 'rest' && account.account_id === undefined) {
    throw new UsageError(`account ${account.name} needs account_id: queries are read through NerdGraph`);
  }
  return { ...config, accounts: [account] };
}

/** The query may be in a pack that no account uses. */
function describeUnknownQuery(name: string, { accounts }: Config): string {
  const { further } = readQueries({ accounts: [{ query_packs: PACKS }] }, '', new Secrets());
  const packQueries = further.flat().map((each) => each.name);
  const known = accounts.flatMap(({ queries }) => queries.map((each) => each.name));
  const advice = packQueries.includes(name)
    ? `: switch its pack on with query_packs: [${name.replace(/\/.*/, '')}]`
    : suggest(name, [...new Set([...known, ...packQueries])]);
  return `no account has the query "${name}"${advice}`;
}

const TYPED_QUERY: QueryDefinition = { name: 'query', nrql: '', metrics: [], interval: 60_000, max_series: 5_000 };

function prepareQuery(definition: QueryDefinition): ReturnType<typeof prepareQueries>[number] {
  const [query] = prepareQueries([definition]);
  if (query === undefined) throw new Error('prepareQueries returned no query');
  return query;
}

function renderRows(definition: QueryDefinition, result: QueryResult): string {
  const names = readStatement(definition.nrql).facets.map(({ name }) => name);
  const facets = new Facets(result.facets, names);
  const rows = result.rows.filter(isRecord);
  const columns = findColumns(definition, result).flatMap((column) => {
    // A parsed row inherits members that are no columns.
    const values = rows.map((row) => (Object.hasOwn(row, column) ? row[column] : null));
    const percentiles = values.find(
      (value) => isRecord(value) && Object.values(value).every((each) => each === null || typeof each === 'number'),
    );
    const parts = isRecord(percentiles) ? Object.keys(percentiles) : [];
    if (parts.length === 0) return [{ heading: column, values }];
    const valuesOf = (part: string) => values.map((value) => (isRecord(value) ? value[part] : null));
    return parts.map((part) => ({ heading: `${column} ${part}`, values: valuesOf(part) }));
  });
  const lines = rows.map((row, index) => {
    const cells = columns.map(({ values }) => formatCell(values[index]));
    return [...(facets.readLabels(row) ?? []), ...cells];
  });
  const heading = [...names.map((name, index) => name ?? `facet ${index + 1}`), ...columns.map((each) => each.heading)];
  return `${renderTable([heading, ...lines])}\n`;
}

function formatCell(value: unknown): string | number {
  if (value === null || value === undefined) return '';
  // Four digits, but all digits of a whole number.
  if (typeof value === 'number') return Math.abs(value) < 1_000 ? Number(value.toPrecision(4)) : Math.round(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns the columns of the rows. Without rows, returns the columns in the text of the query. */
function findColumns({ nrql }: QueryDefinition, { reading }: QueryResult): readonly string[] {
  const named = reading.columns.filter((column) => column !== '');
  if (named.length > 0) return named;
  return readStatement(nrql).columns.map(({ key }, index) => key ?? `column ${String(index + 1)}`);
}

/** Renders the query as configuration, with a metric for each column. The result always passes `check`. */
export function renderQueryYaml(
  definition: QueryDefinition,
  columns: readonly string[],
  staticLabels: readonly string[],
): string {
  const { name, nrql, window, delay, interval, limit, fail_at, max_series } = definition;
  const entry = {
    name: escapePlaceholders(name),
    nrql: escapePlaceholders(nrql),
    labels: definition.labels ?? deriveLabels(nrql, staticLabels),
    metrics: deriveMetrics(name, columns).map(({ name: metric, help, value }) => {
      return { name: metric, help: escapePlaceholders(help), value: escapePlaceholders(value) };
    }),
    window: window === undefined ? undefined : formatDuration(window),
    delay: delay === undefined ? undefined : formatDuration(delay),
    interval: formatDuration(interval),
    limit,
    fail_at,
    max_series: max_series === TYPED_QUERY.max_series ? undefined : max_series,
  };
  return stringify({ queries: [entry] }, { lineWidth: 0 });
}

function deriveMetrics(query: string, columns: readonly string[]): { name: string; help: string; value: string }[] {
  const taken = new Set<string>();
  return columns.map((column) => {
    let name = `${query}_${column}`.replace(/[^a-zA-Z0-9_]/gu, '_');
    if (findNameProblem(name) !== undefined) name = `${name}_value`;
    if (findNameProblem(name) !== undefined) name = `query_${name}`;
    return { name: claimName(name, taken), help: `Column ${column} of the query ${query}`, value: column };
  });
}

/** Derives a label from each facet of a query: its name, `facet_<name>` if reserved, or `facet_<position>` if taken. */
function deriveLabels(nrql: string, staticLabels: readonly string[]): readonly string[] | undefined {
  const { facets } = readStatement(nrql);
  if (facets.length === 0) return undefined;
  const taken = new Set(staticLabels);
  return facets.map(({ name = '' }, index) => {
    const plain = defaultLabel(name);
    const isReserved = findLabelProblem(plain, staticLabels) !== undefined;
    let label = isReserved ? `facet_${plain.replace(/^_+/, '')}` : plain;
    if (label === 'facet_' || taken.has(label)) label = `facet_${index + 1}`;
    return claimName(label, taken);
  });
}

function claimName(name: string, taken: Set<string>): string {
  let free = name;
  while (taken.has(free)) free = `${free}_`;
  taken.add(free);
  return free;
}

/** Prepares the query and reads its rows as the exporter would. A query without metrics publishes all columns. */
function readPublished(account: AccountConfig, definition: QueryDefinition, result: QueryResult) {
  const { rows, facets } = result;
  const columns = findColumns(definition, result);
  const metrics = deriveMetrics(definition.name, columns).map((metric) => ({ ...metric, scale: 1 }));
  const labels = deriveLabels(definition.nrql, Object.keys(account.labels));
  const query = prepareQuery(definition.metrics.length === 0 ? { ...definition, labels, metrics } : definition);
  return { query, reading: readRows({ rows, facets, otherResult: null }, query.rules) };
}

async function renderExposition(account: AccountConfig, { query, reading }: ReturnType<typeof readPublished>) {
  const labels = writeLabels({ account: account.name, ...account.labels });
  const samples = packSamples('queries', querySamples(query, reading));
  const block = { ...labels, group: 'queries', samples } as const;
  // `print` masks keys.
  const mask = new SeriesMask(String, () => 0);
  const { families } = await findFamilies([block], Infinity, mask);
  return Buffer.concat(await writeExposition(families, [], { format: 'text', gzip: false }, mask)).toString('utf8');
}
