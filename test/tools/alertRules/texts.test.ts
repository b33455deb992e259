import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { parse } from 'yaml';
import type { AlertCondition } from '../../../src/api/alerts.ts';
import { fileTexts, writeAll } from '../../../src/tools/alertRules/files.ts';
import { readConfig } from '../../../src/config/load.ts';
import { BOTH_LINES, describeReal } from '../../real/support/realPrograms.ts';
import { run } from '../../real/support/processes.ts';
import { inFolder } from '../../support/folder.ts';
import { CONDITION, converted, entriesOf, type RuleEntry, TERM } from './conditions.ts';

const piece = fc.constantFrom(
  ...['"', "'", '\\', '`', '{{', '}}', '{', '${', '$${', '$', '\n', '\r', '\t', '\0', '\u0007', '\u007f', '\u0085'],
  ...['\u2028', '\ufeff', '\u202e', '\uffff', '\u{e0001}', '😀', '日本', '|', '#', ': ', '- ', '&a', '*a', '!b', '%'],
  ...['<script>', '](x)', '---', '...', '{{ $value }}', '{{/*', '{{- ', '__name__', ' ', 'a', 'Total', '_count', '1'],
);
const text = fc.oneof(
  { weight: 5, arbitrary: fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary' }).map((given) => Buffer.from(given).toString()) },
  { weight: 1, arbitrary: piece.map((one) => one.repeat(Math.floor(10_000 / one.length))) },
);
const attribute = text.map((given) => given.replace(/[`\\]/g, '')).map((given) => (given === '' ? 'x' : given));
const nrql = fc
  .record({
    function: fc.constantFrom('count(*)', 'average(duration)', 'uniqueCount(host)', 'percentile(duration, 95)'),
    alias: fc.option(attribute, { nil: undefined }),
    facets: fc.array(attribute, { maxLength: 5 }),
    literal: text,
  })
  .map(({ function: call, alias, facets, literal }) => {
    const value = alias === undefined ? call : `${call} AS \`${alias}\``;
    const quoted = `'${literal.replace(/[\\']/g, String.raw`\$&`)}'`;
    const facet = facets.length === 0 ? '' : ` FACET ${facets.map((one) => `\`${one}\``).join(', ')}`;
    return `SELECT ${value} FROM Transaction WHERE name = ${quoted}${facet} // ${literal.replace(/[\n\r\u2028]/g, '')}`;
  });
const condition: fc.Arbitrary<AlertCondition> = fc
  .record({
    name: text,
    description: text,
    runbookUrl: text,
    nrql,
    policyId: fc.constantFrom('1', '2'),
    operator: fc.constantFrom('ABOVE', 'BELOW_OR_EQUALS', 'EQUALS', 'NOT_EQUALS'),
    occurrences: fc.constantFrom('ALL', 'AT_LEAST_ONCE'),
    threshold: fc.double({ noNaN: true, noDefaultInfinity: true }),
    duration: fc.integer({ min: 60, max: 86_400 }),
    window: fc.integer({ min: 30, max: 21_600 }),
    fill: fc.constantFrom('NONE', 'STATIC', 'LAST_VALUE'),
    lost: fc.boolean(),
  })
  .map(({ operator, occurrences, threshold, duration, window, fill, lost, ...texts }) => ({
    ...CONDITION,
    ...texts,
    terms: [
      { ...TERM, operator, thresholdOccurrences: occurrences, threshold, thresholdDuration: duration },
      { ...TERM, operator, thresholdOccurrences: occurrences, threshold: -threshold, thresholdDuration: duration },
    ],
    signal: { ...CONDITION.signal, aggregationWindow: window, fillOption: fill, fillValue: threshold },
    expiration: { ...CONDITION.expiration, expirationDuration: duration, openViolationOnExpiration: lost },
  }));
const settings = fc.record({
  conditions: fc.array(condition, { minLength: 30, maxLength: 30 }),
  names: fc.tuple(text, text),
});

/** Conversions of generated conditions: each has an id of its own. */
function generated(count: number) {
  const samples = fc.sample(settings, count);
  return samples.map(({ conditions, names: [first, second] }) => {
    const numbered = conditions.map((each, index) => ({ ...each, id: String(index + 1) }));
    const policies = [first, second].map((name, index) => ({ id: String(index + 1), name }));
    return { conditions: numbered, policies, conversion: converted(numbered, { policies }) };
  });
}

/** A template as Prometheus expands it; its only actions give braces. */
const expanded = (template: string | undefined): string => (template ?? '').replaceAll('{{"{{"}}', '{{');

describe('texts of an account', () => {
  it('come back from the files as they were, and become nothing else', () => {
    for (const { conditions, policies, conversion } of generated(3)) {
      const texts = fileTexts(conversion, 'shop');
      const groups = parse(texts.get('rules.yaml') ?? '') as {
        readonly groups: readonly { readonly rules: readonly RuleEntry[] }[];
      };
      const rules = groups.groups.flatMap((group) => group.rules);
      expect(rules).toEqual(entriesOf(conversion).rules);
      for (const given of conditions) {
        const own = rules.filter(({ labels }) => labels['newrelic_condition_id'] === given.id);
        expect(own).toHaveLength(given.expiration.openViolationOnExpiration ? 3 : 2);
        const policy = policies.find(({ id }) => id === given.policyId)?.name;
        for (const { labels, annotations } of own) {
          expect([labels['condition'], labels['policy']].map(expanded)).toEqual([given.name, policy]);
          expect(expanded(annotations['runbook_url'])).toBe(given.runbookUrl);
          const braces = Object.values({ ...labels, ...annotations })
            .join(' ')
            .replaceAll('{{"{{"}}', '');
          expect(braces).not.toContain('{{');
        }
      }
    }
  });

  it('bring no control character into any file, and no line into the report', () => {
    for (const { conversion } of generated(3)) {
      const texts = fileTexts(conversion, 'shop');
      for (const each of texts.values()) expect(each).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      const rows = (texts.get('report.md') ?? '')
        .split('\n')
        .filter((line) => line.startsWith('| `') || line.startsWith('|  |'));
      expect(rows.length).toBe(conversion.report.length);
    }
  });

  it('give queries that check accepts', async () => {
    await inFolder(async (folder) => {
      for (const { conversion, conditions } of generated(4)) {
        expect(conversion.report.filter(({ mapped }) => !mapped)).toEqual([]);
        writeAll(folder, fileTexts(conversion, 'shop'));
        const path = join(folder, 'config.yaml');
        writeFileSync(
          path,
          'accounts: [{api_key: abcd, account_id: 7, query_files: [queries.yaml], query_packs: [alert_events]}]',
        );
        const result = await readConfig(path, {}, true);
        expect('config' in result ? [] : result).toEqual([]);
        if (!('config' in result)) continue;
        const { queries } = result.config.accounts[0] ?? { queries: [] };
        // The names of the file are those of the rules, once placeholders have been replaced.
        const names = conversion.report.map(({ query }) => query);
        expect(queries.slice(0, conditions.length).map(({ name }) => name)).toEqual(names);
      }
    });
  });
});

await describeReal('files of conditions with any texts', {
  tools: ['promtool'],
  lines: BOTH_LINES,
  define: (program) => {
    test('pass promtool check rules', async () => {
      await inFolder(async (folder) => {
        const files = generated(3).flatMap(({ conversion }, index) => {
          const at = join(folder, String(index));
          writeAll(at, fileTexts(conversion, 'shop'));
          return [join(at, 'rules.yaml'), join(at, 'differences.yaml')];
        });
        // Two rules of one name and labels are a lint, which is fatal here.
        const lint = ['--lint=all', '--lint-fatal'];
        const { status, stdout, stderr } = await run(program('promtool'), ['check', 'rules', ...lint, ...files]);
        expect(stderr.slice(0, 2000)).toBe('');
        expect(stdout.match(/SUCCESS/g)).toHaveLength(files.length);
        expect(status).toBe(0);
      });
    });
  },
});
