import type { Api } from '../../src/api/upstreamReader.ts';
import { SECTIONS } from '../../src/metrics/catalogue.ts';
import { EXPORTER_FAMILIES, PROBE_FAMILIES, type ExporterFamily } from '../../src/metrics/catalogueExporter.ts';
import { customValues } from './customValues.ts';
import { markdownTable } from './markdownTable.ts';

const INTRODUCTION = `# Metrics

This page is generated from the catalogue of families (\`src/metrics\`) by \`npm run generate\`; edit that, not this.

Families are gauges in base units (seconds, bytes, per second; a ratio of 1 is 100 %, and some ratios can be above 1)
without timestamps. Names that end in \`_total\` are [counters](#counters), for \`rate()\` and \`increase()\`; all other values of
applications are averages over a window already. What New Relic does not have is absent: never a made-up 0, never
NaN.

In the column "Source", \`X:v\` is the value \`v\` of the New Relic metric \`X\`; a name with dots is a field of a list of the
REST interface. Where an account with NerdGraph has another source, it stands after "with NerdGraph"; the column
"Interfaces" says which of the two interfaces have the family at all.

## Time bases

- **state**: what the list said when it was read.
- **rolling average of 3 to 4 minutes** (\`rolling\` in a name): with REST, New Relic's own summary of an application, host
  or instance; with NerdGraph, the 4 minutes before the end of the collection window. No setting changes its length.
- **rolling average of 10 minutes** (\`rolling\` in a name): the same of a key transaction, with NerdGraph over 10 minutes.
- **collection window**: the last \`collection.window\`, which ends \`collection.delay\` before the refresh, on the minute;
  \`newrelic_exporter_window_end_timestamp_seconds\` says when that was.
- **every minute once** (counters): each minute is added when it was read, and what arrives late is added later.

So a rolling value and a window value of one entity differ. The length of the window in the formulas is that of the timeslice in
the response, in whole minutes.
`;

const INTERFACES: Readonly<Record<Api, string>> = { rest: 'REST', nerdgraph: 'NerdGraph' };

const COUNTERS = `## Counters

With \`counters: true\` each application that reports has counters, which add every minute once, so \`rate()\` and \`increase()\` give true
numbers over any time ([service-levels.md](service-levels.md)).

- **Late data count.** The exporter keeps the highest value of each minute for an hour, reads the last 10 minutes again with every refresh, and adds
  what has grown; what arrives later than that is missing. A counter never falls.
- **They begin at 0.** The first reading of an application adds nothing. After a restart they begin at 0 again, as Prometheus expects; what came
  in between is counted nowhere. A reload keeps them. An application that leaves the list begins at 0 when it returns; one that
  stops reporting continues where it was.
- **After a pause** (no scrapes, or New Relic could not be read) the missed minutes arrive at once, up to 50 minutes: \`rate()\` over a few
  minutes shows a peak then. Minutes before that are lost, and \`newrelic_exporter_lost_seconds_total\` counts them.
- **A minute that cannot be read**, or in which a value is above 10^12, is never 0: the refresh fails. After 10 minutes the minute is given up as lost.

How much arrives late says whether \`collection.delay\` is long enough, and so whether gauges are complete:

\`\`\`promql
# The share of the transactions that arrived after their minute was first read
increase(newrelic_exporter_late_transactions_total[6h])
  / on (job, instance, account)
sum by (job, instance, account) (increase(newrelic_application_transactions_total[6h]))
\`\`\`
`;

const ABSENCE = `## When a series is absent

- Averages and scores are absent when there were no requests. \`response_time\`, \`web_transaction_time\`, \`queue_time\`,
  \`component_time\` and \`total_time\` are absent without web requests, \`end_user_response_time\` without page views, an
  Apdex score where its count is 0, and of the rolling families response time, error ratio and Apdex score where they
  are 0 while the throughput is 0. Rates and counts of 0 are published as 0.
- \`error_ratio\` is absent without requests. An application that has requests and no \`Errors/all\` recorded no error: 0.
  A host without \`Errors/all\` has no error series with REST; with NerdGraph it has 0 while it reports.
- \`component_time\`, \`component_calls\` and \`total_time\` are absent until the database kind of the application is known. That
  takes one good reading of its database metrics, and with REST one of their names before.
- A value that cannot be read (null, text instead of a number) makes every family absent that is calculated from it. An unreadable
  request queue takes \`response_time\` away, for example, and an unreadable component \`total_time\`.
- \`health_status\` has a series for each known status (green, orange, red, gray, unknown), 1 for the current one and 0
  for the others. An unknown status is one more series with 1, as long as the entity has it.

## Components and databases

\`component\` is the New Relic metric without \`/allWeb\` or \`/all\`: \`Datastore/MySQL\`, \`Database\`, \`ActiveRecord\`,
\`Memcache\`, \`External\`. Exactly one kind of database counts for an application, so that no time is counted twice:
ActiveRecord where an old ruby agent (before 3.11.0) has calls of it, else the \`Datastore\` types with calls, else the
generic \`Database\` (never for a ruby application that has ActiveRecord). Without any calls, it is the first of these that
is present. \`database_component\` in the configuration decides otherwise. Hosts use the kind of their application.
\`total_time\` is what remains of the execution time outside the components; the components and \`total_time\` add up to
New Relic's \`WebTransactionTotalTime\` (or, for agents without it, to \`web_transaction_time\`).
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

- The windows of successive scrapes overlap. \`avg_over_time\` over much longer ranges than the window is sound;
  \`sum_over_time\` of \`apdex_requests\` counts every request many times over.
- An application without background work has no \`non_web_requests_per_second\`, and adding an absent series gives nothing:
  sum first, and write \`(x or y * 0)\` where an absent one shall count 0, as above.
- Equal names are told apart by their ids: join and group \`by (account, app_id)\`, and keep \`app\` for reading.
`;

const STABILITY = `## Stability

The names of families and labels, their units and their meaning are a public interface and follow semantic versioning of
the exporter:

- In a patch or minor release no family and no label on this page is renamed, removed or given another unit or meaning.
  Families, and values of labels such as \`component\`, \`status\`, \`endpoint\` and \`reason\`, may be added; write queries that
  select what they need. HELP texts may change.
- A label is added to an existing family only in a major release.
- A family that is to go is marked as deprecated in its HELP, on this page and in the changelog for at least one minor
  release and six months before the major release that removes it; its successor is there from the first of these days.
- Correcting a wrong number is no change of meaning; the changelog says which family, since when, and by how much.
- When New Relic takes a source away, the series is absent, never a guess. The names outlive the end of the REST
  interface (31 July 2027): \`api: nerdgraph\` publishes them unchanged, as far as NerdGraph has a source.
- \`process_*\` and \`nodejs_*\` belong to the client library and may change with it.
`;

/** The text of docs/metrics.md, as prettier leaves it. */
export function metricsPage(): string {
  const sections = [...SECTIONS.map(section), exporterSection(), COUNTERS, customValues(), ABSENCE, PROMQL, STABILITY];
  return [INTRODUCTION, ...sections].join('\n');
}

function section({ title, entityLabelNames, families }: (typeof SECTIONS)[number]): string {
  const rows = families.map((family) => [
    code(family.name),
    family.labelNames.map(code).join(', '),
    family.meaning,
    family.source,
    family.timeBase,
    family.unit ?? '',
    family.interfaces.map((api) => INTERFACES[api]).join(', '),
  ]);
  return (
    [
      `## ${title}`,
      `Every series carries ${entityLabelNames.map(code).join(', ')} and the account's static labels.`,
      markdownTable(['Family', 'Further labels', 'Meaning', 'Source', 'Time base', 'Unit', 'Interfaces'], rows),
    ].join('\n\n') + '\n'
  );
}

function exporterSection(): string {
  return (
    [
      '## The exporter itself',
      "On `/metrics` only. Series with `account` carry the account's static labels too. The client library's `process_*` and " +
        '`nodejs_*` metrics stand beside them.',
      exporterTable(EXPORTER_FAMILIES),
      '`/probe` adds to the families of one application:',
      exporterTable(PROBE_FAMILIES),
    ].join('\n\n') + '\n'
  );
}

function exporterTable(families: readonly ExporterFamily[]): string {
  const rows = families.map((family) => [
    code(family.name),
    family.type,
    family.labelNames.map(code).join(', '),
    family.help,
  ]);
  return markdownTable(['Family', 'Type', 'Labels', 'Meaning'], rows);
}

function code(name: string): string {
  return `\`${name}\``;
}
