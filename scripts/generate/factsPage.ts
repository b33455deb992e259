import { COUNT, FACTS } from '../../src/tools/facts/facts.ts';

const INTRODUCTION = `# Facts that only an account can settle

Generated from \`src/tools/facts\` by \`npm run generate\`; edit that, not this.

This exporter was never run against New Relic itself: it was built from public documents and programs. What it relies on without a
document that says so is listed here, and an account decides it:

\`\`\`
newrelic-apm-exporter check --live --facts --output=facts.json
\`\`\`

Each is \`as assumed\`, \`differs\` (with what was seen) or \`not decidable here\` (with why: no host, too little traffic).

- It makes at most 80 calls for an account, beyond those that list its applications, under its budget;
  \`--wait=10m\` decides \`late_minutes\`, which reads a minute again while it waits (at most 30 minutes).
- It only reads. Two calls are meant to be refused, and count as no failure: one syntax error, and one query of account 2147483647,
  which cannot exist.
- No query goes over more than an hour of the account or a day of one application, but for alert events and deployments: 30 days.
- It covers every account of the configuration, or that of \`--account\`, through NerdGraph, also where the account is of REST.
- \`--output\` writes a file to share. It names nobody: ids of facts, verdicts, words of fixed lists, counts of rows and hosts
  with two digits, ratios with three, the version and the day. An existing file is kept unless \`--force\` is given.

## What is relied on

Of each fact: what we rely on (and its source), how it is asked, and what is wrong where it differs. In queries,
\`{app}\` is the id of the largest application, \`{apps}\` are the ids of the five largest, \`{time}\` the time clauses, and \`{count}\` is
\`${COUNT}\`. Of packs, events are counted that have each field.
`;

/** Assumptions that no call to an account can decide, with the reason. */
const UNDECIDABLE: readonly (readonly [what: string, why: string])[] = [
  ['The bodies of 403, 404, 422 and 5xx responses', 'a harmless call does not cause them; bodies of any form are read'],
  [
    'The headers of a 429 response of NerdGraph, and how NRQL reports its limit',
    'it takes an overload; pauses do without',
  ],
  ['The window and the units of apmSummary', 'its times and rates are not read, only its counts'],
  ['Timeslices over NRQL in the regions jp and gov', 'only an account there shows it: `check --live` warns of no rows'],
  ['Whether a role hides data as empty rows or by an error', 'the key of one user cannot tell; both are warned of'],
  ['A batch whose rows are cut although otherResult is empty', 'what is missing in silence cannot be counted'],
  ['How long lists keep applications that no longer report', 'it takes weeks'],
];

/** Writes docs/facts.md. */
export function factsPage(): string {
  const facts = FACTS.map(({ id, relies, wrong, fields, asked }, index) => {
    const isAskedSoBefore = FACTS[index - 1]?.asked === asked;
    const question = asked.startsWith('SELECT') ? `\`${asked.replace(COUNT, '{count}')}\`` : asked;
    const notes = [
      ...(fields === undefined ? [`Asked: ${isAskedSoBefore ? 'the same' : question}`] : []),
      `Wrong: ${wrong.map(named).join(', ')}`,
      'Seen live: not yet',
    ];
    return `- \`${id}\`: ${[relies, ...notes].join('. ')}.`;
  });
  const others = UNDECIDABLE.map(([what, why]) => `- ${what}: ${why}.`);
  return [INTRODUCTION, ...facts, '\n## What no call decides\n', ...others].join('\n');
}

/** Formats the name of a family, a setting or a fact as code. Leaves words as they are. */
function named(part: string): string {
  return part.replace(/^[\w*.]+$|\w+<\w+>\S*/, '`$&`');
}
