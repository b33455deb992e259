import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Document, isScalar, visit } from 'yaml';
import { escapeUnsafe } from '../../log/logger.ts';
import { type Conversion, costWords, type ReportRow } from './convert.ts';

/** The files that the command writes, in the order of its output. */
export const FILE_NAMES = ['queries.yaml', 'rules.yaml', 'differences.yaml', 'report.md'] as const;

/**
 * Characters that a YAML reader refuses, or a terminal executes or hides; line feeds are allowed, because the file itself has
 * them.
 */
const UNSAFE = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\ufffe\uffff]/gu;

/** The texts of the files, by name. */
export function fileTexts(conversion: Conversion, account: string): ReadonlyMap<(typeof FILE_NAMES)[number], string> {
  const { queries, rules, differences } = conversion;
  return new Map([
    ['queries.yaml', yamlText(queries, 'Signals of alert conditions: name this file in query_files of the account.')],
    ['rules.yaml', yamlText(rules, 'Alert conditions as rules: name this file in rule_files of Prometheus.')],
    [
      'differences.yaml',
      yamlText(differences, 'Where those rules and New Relic disagree; needs the query pack alert_events.'),
    ],
    ['report.md', reportText(conversion, account)],
  ]);
}

/**
 * Writes files into a folder, which it creates. None is replaced before all are written. Throws the system's error.
 *
 * @param texts by file name
 */
export function writeAll(folder: string, texts: ReadonlyMap<string, string>): void {
  mkdirSync(folder, { recursive: true });
  const files = [...texts].map(([name, text]) => ({
    from: join(folder, `.${name}.new`),
    to: join(folder, name),
    text,
  }));
  try {
    for (const { from, text } of files) writeFileSync(from, text);
    for (const { from, to } of files) renameSync(from, to);
  } finally {
    for (const { from } of files) rmSync(from, { force: true });
  }
}

/** A YAML document of foreign texts: each stays one value, with all its characters visible. */
function yamlText(value: object, comment: string): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar: (_, node) => {
      if (isScalar(node) && typeof node.value === 'string' && node.value.search(UNSAFE) >= 0)
        node.type = 'QUOTE_DOUBLE';
    },
  });
  const text = document.toString({ lineWidth: 0, doubleQuotedMinMultiLineLength: Infinity, doubleQuotedAsJSON: true });
  return `# ${comment}\n# Written by newrelic-apm-exporter alert-rules.\n${text.replace(UNSAFE, escaped)}`;
}

/** The escape of a character in double-quoted YAML. */
function escaped(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\U${code.padStart(8, '0')}` : `\\u${code.padStart(4, '0')}`;
}

/** The report as a table in GitHub's Markdown. */
function reportText(conversion: Conversion, account: string): string {
  const { report, cost } = conversion;
  const mapped = report.filter((row) => row.mapped);
  const others = report.filter((row) => !row.mapped);
  return [
    `# Alert conditions of account ${code(account)}`,
    ...costWords(cost),
    `## Mapped: ${mapped.length}`,
    tableText(['Policy', 'Condition', 'Id', 'Metric', 'What differs'], mapped, ({ metric }) => metric ?? ''),
    `## Not mapped: ${others.length}`,
    tableText(['Policy', 'Name', 'Id', 'Kind', 'Why'], others, ({ kind }) => kind),
  ].join('\n\n');
}

function tableText(heading: readonly string[], rows: readonly ReportRow[], fourth: (row: ReportRow) => string): string {
  const lines = rows.map((row) => [
    code(row.policy),
    code(row.name),
    code(row.id),
    fourth(row),
    row.notes.map(code).join('; '),
  ]);
  return [heading, heading.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}

/** A text as code on one line, without effect as Markdown or HTML. */
function code(text: string): string {
  if (text.trim() === '') return '';
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  const padding = /^[` ]|[` ]$/.test(text) ? ' ' : '';
  return `${fence}${padding}${escapeUnsafe(text).replaceAll('|', String.raw`\|`)}${padding}${fence}`;
}
