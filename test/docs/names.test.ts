import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { FAILURE_REASONS } from '../../src/api/upstreamError.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { toolCommands } from '../../src/tools/commands.ts';
import { BUILT_IN_NAMES, FAMILIES } from '../../src/metrics/catalogue.ts';
import { GROUPS } from '../../src/reads/reads.ts';
import { PATHS } from '../../src/web/dependencies.ts';
import { PACK_NAMES } from '../monitoring/names.ts';
import { blocksOf, codeSpansOf, PAGES, pageAt, ROOT, sectionOf } from './pages.ts';
import { goldenFamilyName } from '../../src/metrics/monitoredFamilies.ts';

/** Golden metrics that pages show as examples, by their types. */
const GOLDEN = new Set(
  [
    ['EXT-SERVICE', 'responseTimeMs'],
    ['INFRA-AZUREP2SVPNGATEWAY', 'p2sConnectionCount'],
    ['INFRA-AWSS3BUCKET', 'errors4xxAnd5xx'],
    ['INFRA-AWSSAGEMAKER', 'cPUUtilization'],
    ['INFRA-AWSREDSHIFTCLUSTER', 'CPUUtilization'],
    ['INFRA-HOST', 'cpuUsage'],
    ['BROWSER-APPLICATION', 'largestContentfulPaint75PercentileS'],
  ].map(([type = '', metric = '']) => goldenFamilyName(type, metric)),
);

const program = buildProgram(toolCommands());
const flagsOf = (command: Command): readonly string[] => command.options.flatMap(({ long }) => long ?? []);
const flagsOfCommand = (name: string) => program.commands.filter((each) => each.name() === name).flatMap(flagsOf);
const OWN_FLAGS = new Set(['--help', ...[program, ...program.commands].flatMap(flagsOf)]);

/** Flags of npm scripts and of other programs that pages speak of. */
const OTHER_FLAGS = new Set([
  ...['--json', '--quick', '--growth', '--only', '--runs'],
  '--storage.tsdb.allow-overlapping-blocks',
  '--disable-sigusr1',
  // Of Prometheus as an agent, in version 3 and before.
  ...['--agent', '--enable-feature'],
]);

/** Lines that call another program; its flags are its own. */
const OTHER_PROGRAM = /^\s*(?:docker|kubectl|promtool|npm|curl|htpasswd|sudo|systemctl|openssl|helm)\b/;

const schema = z
  .object({
    properties: z.record(z.string(), z.unknown()).optional(),
    items: z.unknown().optional(),
    anyOf: z.array(z.unknown()).optional(),
  })
  .loose();

/** Every key of the configuration, with what it stands in: `accounts.limits.max_retries`. */
function keyPaths(node: unknown, path: readonly string[] = []): string[] {
  const parsed = schema.safeParse(node);
  if (!parsed.success) return [];
  const { properties = {}, items, anyOf = [] } = parsed.data;
  const inner = Object.entries(properties).flatMap(([key, value]) => [
    [...path, key].join('.'),
    ...keyPaths(value, [...path, key]),
  ]);
  return [...inner, ...keyPaths(items, path), ...anyOf.flatMap((each) => keyPaths(each, path))];
}

const KEYS = keyPaths(JSON.parse(readFileSync(join(ROOT, 'docs/configuration.schema.json'), 'utf8')));

function flagsIn(text: string): readonly string[] {
  return [...text.matchAll(/(?<![\w-])--[a-z][a-z0-9.-]*[a-z0-9]/g)].map(([flag]) => flag);
}

/** Lines of blocks, with continued ones joined, and code within lines. */
function commandLines(text: string): readonly string[] {
  const blocks = [...blocksOf(text, 'sh'), ...blocksOf(text, '')].join('\n').replace(/\\\n/g, ' ');
  return [...blocks.split('\n'), ...codeSpansOf(text)];
}

/** Names of the rules that pages and rule files record. */
const RECORDED: ReadonlySet<string> = new Set(
  ['recording.yaml', 'slo.yaml', 'migration/shadow.yaml']
    .map((file) => readFileSync(join(ROOT, 'monitoring/rules', file), 'utf8'))
    .concat(PAGES.map(({ text }) => text))
    .flatMap((text) => text.match(/(?<=record: )\S+/g)?.flatMap((name) => name.split(':')) ?? []),
);

describe.each(PAGES)('$path', ({ text }) => {
  test('names flags that exist', () => {
    const lines = commandLines(text).filter((line) => !OTHER_PROGRAM.test(line));
    expect(lines.flatMap(flagsIn).filter((flag) => !OWN_FLAGS.has(flag) && !OTHER_FLAGS.has(flag))).toEqual([]);
  });

  test('shows commands that exist, with flags that they have', () => {
    const lines = commandLines(text).filter((line) => !OTHER_PROGRAM.test(line));
    const wrong = lines.flatMap((line) => {
      const call = /(?:newrelic-apm-exporter|dist\/main\.js) +([a-z][a-z-]*)\b(.*)/.exec(line);
      if (call === null) return [];
      const [, name = '', rest = ''] = call;
      if (!program.commands.some((each) => each.name() === name)) return [line];
      const known = ['--help', ...flagsOfCommand(name)];
      return flagsIn(rest).some((flag) => !known.includes(flag)) ? [line] : [];
    });
    expect(wrong).toEqual([]);
  });

  test('names metrics that exist', () => {
    const names = text.match(/(?<![\w/])newrelic_[a-z0-9_]*/g) ?? [];
    const known = (name: string): boolean =>
      BUILT_IN_NAMES.has(name) ||
      RECORDED.has(name) ||
      PACK_NAMES.has(name) ||
      name.startsWith('newrelic_custom_') ||
      GOLDEN.has(name) ||
      // A beginning, as in `newrelic_host_*` or `newrelic_<scope>`.
      (name.endsWith('_') && [...BUILT_IN_NAMES, ...PACK_NAMES].some((each) => each.startsWith(name)));
    expect(names.filter((name) => !known(name))).toEqual([]);
  });

  test('names keys of the configuration that exist', () => {
    const spans = codeSpansOf(text).map((span) => span.replace(/^accounts\[\]/, 'accounts').split(/[:\s]/)[0] ?? '');
    const dotted = spans.filter((span) =>
      /^(?:accounts|collection|limits|applications|key_transactions|intervals|tls)(?:\.(?!ts$)[a-z_[\]]+)+$/.test(span),
    );
    const plain = dotted.map((span) => span.replaceAll('[]', ''));
    expect(plain.filter((span) => !KEYS.some((key) => key === span || key.endsWith(`.${span}`)))).toEqual([]);
  });

  test('names files that exist', () => {
    const files = codeSpansOf(text).filter((span) =>
      /^(?:src|test|docs|monitoring|deploy|scripts|bench)\/[\w./*-]*$/.test(span),
    );
    const missing = files.filter((file) => !existsSync(join(ROOT, file.replace(/[^/]*\*.*$/, ''))));
    expect(missing).toEqual([]);
  });

  test('names environment variables that exist', () => {
    const known = pageAt('docs/configuration.md').text;
    const names = text.match(/\bNEW_RELIC_[A-Z_]*[A-Z]\b/g) ?? [];
    expect(names.filter((name) => !known.includes(`\`${name}\``))).toEqual([]);
  });
});

describe('docs/reference.md', () => {
  const { text } = pageAt('docs/reference.md');

  test.each(program.commands.map((command) => command.name()))('describes the command %s', (name) => {
    expect(sectionOf(pageAt('docs/reference.md'), '## Commands')).toMatch(new RegExp(`^- \`${name}[ \`]`, 'm'));
    expect(pageAt('README.md').text).toContain(`\`${name}\``);
  });

  test.each(['/metrics', '/', ...Object.values(PATHS)])('describes the endpoint %s', (endpoint) => {
    const path = endpoint.replaceAll('/', '\\/');
    expect(sectionOf(pageAt('docs/reference.md'), '## Endpoints')).toMatch(new RegExp(`^- \`.*? ${path}[?\`].*:`, 'm'));
  });

  test.each(GROUPS)('names the group %s', (group) => {
    expect(text).toContain(`\`${group}\``);
  });
});

test('docs/migrating.md names every family that NerdGraph does not have', () => {
  const section = sectionOf(pageAt('docs/migrating.md'), '### What changes');
  const absent = FAMILIES.filter(({ interfaces }) => !interfaces.includes('nerdgraph')).map(({ name }) => name);
  const named = section.match(/newrelic_[a-z_]+/g) ?? [];
  const said = (name: string): boolean =>
    named.some((each) => each === name || (each.endsWith('_') && name.startsWith(each)));
  expect(absent.filter((name) => !said(name))).toEqual([]);
});

/** Flags that the commands which read an account share with the daemon. */
const SHARED_FLAGS = ['--config.file', '--log.level', '--log.format', '--color', '--version'];

test.each(['check', 'plan', 'discover', 'metric-names', 'query', 'backfill', 'compare', 'init', 'completion'])(
  'docs/reference.md has exactly the flags of the command %s',
  (name) => {
    const items = sectionOf(pageAt('docs/reference.md'), '## Commands').split(/^- /m);
    const [, flags = ''] = items.find((item) => item.startsWith(`\`${name}`))?.split('Flags:') ?? [];
    const documented = [...flags.matchAll(/`(--[^`]+)`/g)].map(([, flag = '']) => flag);
    const ownFlags = flagsOfCommand(name).filter((flag) => !SHARED_FLAGS.includes(flag));
    expect(documented.sort()).toEqual(ownFlags.toSorted());
  },
);

test('docs/simulator.md has every flag of simulate', () => {
  const { text } = pageAt('docs/simulator.md');
  expect(flagsOfCommand('simulate').filter((flag) => !text.includes(flag))).toEqual(['--color', '--version']);
});

test('docs/operations.md has every flag of serve with its default', () => {
  const lines = sectionOf(pageAt('docs/operations.md'), '## Flags of `serve`').split('\n');
  const absent = flagsOfCommand('serve').filter((flag) => !lines.some((line) => line.startsWith(`- \`${flag}\`: `)));
  expect(absent).toEqual(['--version']);
});

test('docs/errors.md explains every reason', () => {
  const section = sectionOf(pageAt('docs/errors.md'), '## Failed calls');
  expect(FAILURE_REASONS.filter((reason) => !section.includes(`\n- \`${reason}\`: `))).toEqual([]);
});

test.each(['npm ci && npm run demo', 'npm ci && npm test'])('README has a command alone on a line: %s', (command) => {
  const lines = pageAt('README.md').text.split('\n');
  expect(lines.map((line) => line.split('#')[0]?.trim())).toContain(command);
});
