import { FACTS, UNDECIDABLE } from '../../src/tools/facts/facts.ts';
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

- At most 80 calls for an account, beyond those that list its applications and key transactions, under its budget;
  \`--wait=10m\` adds the last row, which reads a minute again while it waits (at most 30 minutes).
- It only reads. Some calls are meant to be refused: at most three with many metric names, one syntax error, and one query
  of account 2147483647, which cannot exist. They count as no failure of the account.
- No query goes over more than an hour of the account or a day of one application, but for alert events and deployments, of
  which there are few: 30 days.
- It covers every account of the configuration, or that of \`--account\`, through both interfaces: REST and NerdGraph.
- \`--output\` writes a file to share. It has no names: row ids, verdicts, words of fixed lists, counts of rows, hosts, pages
  and names with two digits, ratios with three, the version and the day. An existing file is kept unless \`--force\` is given.
`;

const PLANTING = `\`newrelic-apm-exporter simulate --fact=<id>\` makes the simulator differ in that row ([simulator](simulator.md#facts)).`;

/** The text of docs/facts.md. */
export function factsPage(): string {
  const rows = FACTS.map(({ id, relies, source, checkedBy, wrong }) => [
    `\`${id}\``,
    relies,
    source,
    checkedBy,
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
