import { SECTIONS } from '../../src/metrics/catalogue.ts';
import { EXPORTER_FAMILIES, PROBE_FAMILIES, type ExporterFamily } from '../../src/metrics/catalogueExporter.ts';
import type { CatalogueFamily } from '../../src/metrics/family.ts';
import { customValues } from './customValues.ts';

const INTRODUCTION = `# Metrics

Generated from \`src/metrics\` by \`npm run generate\`; edit that, not this.

Five lines of a scrape, their values shortened:

\`\`\`
newrelic_application_web_requests_per_second{account="production",app="Checkout API",app_id="1000002"} 6.243
newrelic_application_response_time_seconds{account="production",app="Checkout API",app_id="1000002"} 0.1403
newrelic_application_component_time_seconds{account="production",app="Checkout API",app_id="1000002",component="Datastore/Postgres"} 0.03972
newrelic_application_error_ratio{account="production",app="Checkout API",app_id="1000002"} 0.01068
newrelic_application_apdex_score{account="production",app="Checkout API",app_id="1000002"} 0.9749
\`\`\`

Which of the three response times to take:

- \`newrelic_application_response_time_seconds\`: **this one**, for dashboards and alerts. It is the line of New Relic's main chart: the
  time of a web request with its wait in the queue, over \`collection.window\`.
- \`newrelic_application_web_transaction_time_seconds\`: the same without the wait in the queue, to compare with what the application
  measures itself.
- \`newrelic_application_rolling_response_time_seconds\`: over [about 4 minutes](#state-and-rolling-values), whatever
  \`collection.window\` is, to compare with New Relic's list of applications.

\`newrelic_application_total_time_seconds\` is none of them: it is the time in the application's own code.

Families are gauges in base units without timestamps (a ratio of 1 is 100 %, and some can be above 1). Names that end in \`_total\` are
[counters](#counters), for \`rate()\` and \`increase()\`; all other values of applications are averages over a window already. What New
Relic does not have is absent: never a made-up 0, never NaN. Every series of an account has its static labels, too.

In sources, \`X:v\` is the value \`v\` of the New Relic metric \`X\`; other names are fields of New Relic's lists. The source in
NerdGraph stands behind "with NerdGraph" where it is another one. Both interfaces have a family, unless it is marked.
`;

/** The introduction of each section. */
const ABOUT: Readonly<Record<string, string>> = {
  'State and rolling values': `State is what the list said when it was read. Families with \`rolling\` in their names are averages: with REST, New Relic's own summary,
of 3 to 4 minutes, of a key transaction 10; with NerdGraph, over the 4 minutes (10) before the end of the collection window. No
setting changes their length.`,
  'Window metrics': `Averages over the last \`collection.window\`, which ends \`collection.delay\` before the refresh, on the minute
(\`newrelic_exporter_window_end_timestamp_seconds\`). The length of the window in a formula is that of the timeslice in the
response, in whole minutes.`,
  Counters: `With \`counters: true\` each application that reports has counters, which add every minute once, so \`rate()\` and \`increase()\` give true
numbers over any time ([service-levels.md](service-levels.md)).`,
  'Entities of other types': `Beside the [golden metrics](entities.md), whose families are named by type and metric.`,
};

const COUNTERS = `What they count:

- **Late data count.** The exporter keeps the highest value of each minute for an hour, reads the last 10 minutes again with every
  refresh, and adds what has grown. What arrives later is missing. A counter never falls.
- **They begin at 0.** The first reading of an application adds nothing. After a restart they begin at 0 again, as Prometheus expects; what
  came in between is counted nowhere. A reload keeps them. An application that leaves the list begins at 0 when it returns; one that
  stops reporting continues where it was.
- **After a pause** (no scrapes, or New Relic could not be read) the missed minutes arrive at once, up to 50: \`rate()\` over a few
  minutes shows a peak then. Minutes before that are lost, and \`newrelic_exporter_lost_seconds_total\` counts them.
- **A clock that is set and corrected** counts no minute twice: the exporter remembers for a day which minutes it has
  counted. After a step back of more than an hour the next reading adds nothing, and nothing is lost by it.
- **A minute that cannot be read**, or in which a value is above 10^12, is never 0: the refresh fails. After 10 minutes the minute
  counts as lost.

Whether \`collection.delay\` is long enough, and so gauges are complete:

\`\`\`promql
# The share of the transactions that arrived after their minute was first read
increase(newrelic_exporter_late_transactions_total[6h])
  / on (job, instance, account)
sum by (job, instance, account) (increase(newrelic_application_transactions_total[6h]))
\`\`\`
`;

const ABSENCE = `## When a series is absent

- Averages and scores of nothing are absent: times without web requests, or page views; an Apdex score and an error ratio without requests;
  of the rolling families response time, error ratio and Apdex score where they are 0 while the throughput is 0. Rates and counts of 0 are
  published as 0.
- \`component_time\`, \`component_calls\` and \`total_time\` are absent until the database kind of the application is known. That
  takes one good reading of its database metrics, and with REST one of their names before.
- A value that cannot be read (null, text instead of a number) makes every family absent that is calculated from it.
- \`health_status\` has a series for each of green, orange, red, gray and unknown. Any other status is one more series with 1, as long as
  the entity has it.

## Components and databases

\`component\` is the New Relic metric without \`/allWeb\` or \`/all\`: \`Datastore/MySQL\`, \`Database\`, \`ActiveRecord\`,
\`Memcache\`, \`External\`. Exactly one kind of database counts for an application and its hosts, so that no time is counted twice:
ActiveRecord where an old ruby agent (before 3.11.0) has calls of it, else the \`Datastore\` types with calls, else the
generic \`Database\` (never for a ruby application that has ActiveRecord). Without any calls, it is the first of these that
is present. \`database_component\` in the configuration decides otherwise.
The components and \`total_time\` add up to New Relic's \`WebTransactionTotalTime\` (or, for agents without it, to \`web_transaction_time\`).
`;

const PROMQL = `## Queries that stay true

Never average averages: weight by throughput.

\`\`\`promql
# Response time of all applications of an account together
sum by (account) (newrelic_application_response_time_seconds * newrelic_application_web_requests_per_second)
  / sum by (account) (newrelic_application_web_requests_per_second and newrelic_application_response_time_seconds)

# Error ratio of several applications together
sum by (account) (newrelic_application_errors_per_second)
  / (
    sum by (account) (newrelic_application_web_requests_per_second)
    + (
      sum by (account) (newrelic_application_non_web_requests_per_second)
      or sum by (account) (newrelic_application_web_requests_per_second) * 0
    )
  )

# Apdex of several applications together, from the counts
(
  sum by (account) (newrelic_application_apdex_requests{zone="satisfied"})
  + sum by (account) (newrelic_application_apdex_requests{zone="tolerating"}) / 2
) / sum by (account) (newrelic_application_apdex_requests)

# Web requests in the last hour (a rate already: no rate(), no increase())
max by (account, app_id, app) (avg_over_time(newrelic_application_web_requests_per_second[1h])) * 3600

# The breakdown of the main chart, stacked: components, and the rest
newrelic_application_component_time_seconds or newrelic_application_total_time_seconds

# The language of an application on any of its series
newrelic_application_error_ratio
  * on (instance, account, app_id) group_left (language) newrelic_application_info
\`\`\`

- The windows of successive scrapes overlap: \`avg_over_time\` over much longer ranges is sound, but \`sum_over_time\` of
  \`apdex_requests\` counts every request many times.
- Adding an absent series gives nothing: sum first, and write \`(x or y * 0)\` where an absent one counts 0, as above.
- Two applications may have one name: join and group \`by (account, app_id)\`, and keep \`app\` for reading.
`;

const STABILITY = `## Stability

The names of families and labels, their units and their meaning are a public interface and follow semantic versioning:

- In a patch or minor release no family and no label on this page is renamed, removed or given another unit or meaning. Families, and values of labels, may be added: write queries that select what they need. HELP texts may change.
- A label is added to an existing family only in a major release.
- A family that is to go is marked as deprecated in its HELP, on this page and in the changelog for at least one minor
  release and six months before the major release that removes it; its successor is there from the first day of these.
- Correcting a wrong number is no change of meaning; the changelog says which family, since when, and by how much.
- When New Relic takes a source away, the series is absent. The names outlive the REST interface (31 July 2027), as far as
  NerdGraph has a source.
- \`process_*\` and \`nodejs_*\` belong to the client library and may change with it.
`;

/** Writes docs/metrics.md. */
export function metricsPage(): string {
  const titles = [...new Set(SECTIONS.map(({ title }) => title))];
  const parts = [...titles.map(section), exporterSection(), customValues(), ABSENCE, PROMQL, STABILITY];
  return [INTRODUCTION, ...parts].join('\n');
}

/** A family, and its kind of entity in words. */
interface Entry {
  readonly kind: string;
  readonly family: CatalogueFamily;
}

function section(title: string): string {
  const parts = SECTIONS.filter((each) => each.title === title).map((part) => ({
    ...part,
    kind: part.kind.replaceAll('_', ' '),
  }));
  const entries = parts.flatMap(({ kind, families }) => families.map((family) => ({ kind, family })));
  const suffixes = new Set(entries.map(({ family }) => family.spec.suffix));
  const lines = [...suffixes].flatMap((suffix) =>
    linesOf(entries.filter(({ family }) => family.spec.suffix === suffix)),
  );
  const labels = parts.map(({ kind, carried }) => {
    return `${parts.length > 1 ? `of ${kind}s ` : ''}${carried.map(code).join(', ')}`;
  });
  return `${[
    `## ${title}`,
    ABOUT[title] ?? '',
    `Labels of every series: ${labels.join('; ')}.`,
    lines.join('\n'),
    ...(title === 'Counters' ? [COUNTERS] : []),
  ].join('\n\n')}\n`;
}

/** Writes one line for all families with the same meaning and the same source. */
function linesOf(entries: readonly Entry[]): string[] {
  const general = ({ kind, family: { spec } }: Entry) => spec.meaning.replaceAll(`the ${kind}`, 'the entity');
  const keyOf = (entry: Entry) => `${general(entry)} ${entry.family.spec.source}`;
  return [...new Set(entries.map(keyOf))].map((key) => {
    const alike = entries.filter((entry) => keyOf(entry) === key);
    const names = alike.map(({ family }) => `${nameOf(family)}${MARK[family.interfaces.join()] ?? ''}`).join(', ');
    const [{ meaning, source } = { meaning: '', source: '' }] = alike.map((entry) => ({
      meaning: alike.length === 1 ? entry.family.spec.meaning : general(entry),
      // One section says when averages are absent.
      source: entry.family.spec.source.replace(/, absent (?:without|where) [^;]*$/, ''),
    }));
    return plain(`- ${names}: ${meaning}. Source: ${[source, ...nerdgraphSources(alike)].join('; ')}.`);
  });
}

const MARK: Readonly<Record<string, string>> = { rest: ' (REST only)', nerdgraph: ' (NerdGraph only)' };

/** Lists the NerdGraph sources of the families, the first without the name of its kind. */
function nerdgraphSources(entries: readonly Entry[]): string[] {
  const kinds = new Map<string, string>();
  for (const { kind, family } of entries.toReversed()) {
    if (typeof family.spec.nerdgraph === 'string') kinds.set(family.spec.nerdgraph, kind);
  }
  const [[first] = [], ...others] = [...kinds].toReversed();
  if (first === undefined) return [];
  return [`with NerdGraph ${first}`, ...others.map(([source, kind]) => `of a ${kind} ${source}`)];
}

/** Text in which Markdown sees no formatting: names with \`<...>\` and sums with \`*\` are code. */
function plain(text: string): string {
  return text.replaceAll(/`[^`]*`|[\w/]*<\w+>/g, (part) => (part.startsWith('`') ? part : code(part)));
}

function exporterSection(): string {
  return (
    [
      '## The exporter itself',
      "On `/metrics` only, beside the client library's `process_*` and `nodejs_*` metrics.",
      EXPORTER_FAMILIES.map(exporterLine).join('\n'),
      '`/probe` adds to the families of one application:',
      PROBE_FAMILIES.map(exporterLine).join('\n'),
    ].join('\n\n') + '\n'
  );
}

function exporterLine(family: ExporterFamily): string {
  return `- ${nameOf(family)}${family.type === 'histogram' ? ', a histogram' : ''}: ${family.help}`;
}

function nameOf({ name, labelNames }: { readonly name: string; readonly labelNames: readonly string[] }): string {
  return code(labelNames.length === 0 ? name : `${name}{${labelNames.join(',')}}`);
}

function code(name: string): string {
  return `\`${name}\``;
}
