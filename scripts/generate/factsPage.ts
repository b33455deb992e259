import { FACTS } from '../../src/tools/facts/facts.ts';
import { markdownTable } from './markdownTable.ts';

const INTRODUCTION = `# Facts that only an account can settle

This page is generated from the table of facts (\`src/tools/facts\`) by \`npm run generate\`; edit that, not this.

No part of this exporter was ever run against New Relic itself: it was built from public documents and programs. What it relies
on without a document that says so is listed here, and an account answers it:

\`\`\`
newrelic-apm-exporter check --live --facts --output=facts.json
\`\`\`

Each row is \`as assumed\`, \`differs\` (with what was seen, and what of the exporter it makes wrong) or \`not decidable here\`
(with why: no host, too little traffic). The exit status is 0, or 1 when a row differs or the account cannot be read.

- At most 80 calls for an account, beyond those that list its applications, under its budget;
  \`--wait=10m\` decides \`late_minutes\`, which reads a minute again while it waits (at most 30 minutes).
- It only reads. Some calls are meant to be refused: at most three with many metric names, one syntax error, and one query
  of account 2147483647, which cannot exist. They count as no failure of the account.
- No query goes over more than an hour of the account or a day of one application, but for alert events and deployments, of
  which there are few: 30 days.
- It covers every account of the configuration, or that of \`--account\`, through both interfaces: REST and NerdGraph.
- \`--output\` writes a file to share. It has no names: row ids, verdicts, words of fixed lists, counts of rows, hosts, pages
  and names with two digits, ratios with three, the version and the day. An existing file is kept unless \`--force\` is given.
`;

const PLANTING = `\`newrelic-apm-exporter simulate --fact=<id>\` makes the simulator differ in that row ([simulator](simulator.md#facts)).
In queries, \`{app}\` is the id of the largest application, \`{apps}\` are the ids of the five largest, and \`{time}\` the time clauses.
Whether both interfaces say the same of the same minutes is shown by the command \`compare\`.`;

/** Assumptions that no call to an account can decide, with the reason. */
const UNDECIDABLE: readonly (readonly [what: string, why: string])[] = [
  ['The bodies of 403, 404, 422 and 5xx answers', 'a harmless call does not cause them; bodies of any form are read'],
  [
    'The headers of a 429 answer of NerdGraph, and how NRQL reports its limit',
    'it takes an overload; pauses do without',
  ],
  ['Null among the values of metric data', 'it cannot be caused; a null is left out and counted'],
  ['Zeros of metrics that were collected once', 'when a metric ended is not known; zeros and absences are both read'],
  ['Metric data as XML', 'never requested'],
  ['The header X-Account-ID with REST', 'never sent'],
  [
    'Whether Api-Key works for every user key with REST',
    'X-Api-Key is sent, and `check --live` shows whether it works',
  ],
  ['A period finer than the granule', 'never requested'],
  ['The window and the units of apmSummary', 'its times and rates are not read, only its counts'],
  ['Whether realAgentId is the REST instance id', 'it is not read: NerdGraph has no instances here'],
  ['Timeslices over NRQL in the regions jp and gov', 'only an account there shows it: `check --live` warns of no rows'],
  ['Whether a role hides data as empty rows or by an error', 'the key of one user cannot tell; both are warned of'],
  ['A batch whose rows are cut although otherResult is empty', 'what is missing in silence cannot be counted'],
  ['How long lists keep applications that no longer report', 'it takes weeks'],
];

/** The text of docs/facts.md. */
export function factsPage(): string {
  const rows = FACTS.map(({ id, relies, source, checkedBy, nrql, wrong }) => [
    `\`${id}\``,
    relies,
    source,
    checkedBy ?? `\`${nrql}\``,
    wrong.map((each) => (/^[\w*.]+$/.test(each) ? `\`${each}\`` : each)).join(', ') || 'nothing',
    'not yet',
  ]);
  const followed = FACTS.filter((fact) => fact.follows !== undefined).map(({ id, ...fact }) => [
    `\`${id}\``,
    (fact.follows ?? []).map((each) => `\`${each}\``).join(', '),
  ]);
  return `${[
    INTRODUCTION,
    `## The facts\n\n${PLANTING}\n`,
    markdownTable(['Id', 'We rely on', 'Source', 'How it is asked', 'Wrong where it differs', 'Seen live'], rows),
    `\n## Facts that differ together\n`,
    markdownTable(['Where this one differs', 'these may differ too'], followed),
    `\n## What no call decides\n`,
    markdownTable(['What', 'Why'], UNDECIDABLE),
  ].join('\n')}\n`;
}
