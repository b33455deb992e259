import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashSync } from 'bcryptjs';
import { beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { itemOf, keysOf } from '../../scripts/generate/schemaKeys.ts';
import { loadConfig } from '../../src/config/load.ts';
import { fileSchema } from '../../src/config/schema/file.ts';
import { toInputSchema } from '../../src/config/schemaIssues.ts';
import { run } from '../real/support/processes.ts';
import { BOTH_LINES, describeReal } from '../real/support/realPrograms.ts';
import { inFolder } from '../support/folder.ts';
import { authority, certificate, LOCALHOST, type KeyPair } from '../support/certificates.ts';
import { PAGES, ROOT, yamlBlocks } from './pages.ts';

/** Every block of YAML of the pages, by its first key. */
const BLOCKS = PAGES.flatMap(({ path, text }) =>
  yamlBlocks(text).map((block) => ({ path, block, key: block.split(':', 1)[0] ?? '' })),
);

const FILE_KEYS = keysOf(toInputSchema(fileSchema));
const ACCOUNT = FILE_KEYS.map(({ schema }) => itemOf(schema)).find((item) => item !== undefined);
/** Keys that stand in an account; `queries` is one of query files, too. */
const ACCOUNT_KEYS = new Set(keysOf(ACCOUNT ?? {}).map(({ name }) => name));
const isOurs = (key: string): boolean => ACCOUNT_KEYS.has(key) || FILE_KEYS.some(({ name }) => name === key);

/** A configuration around a part of one. */
function fileWith(key: string, part: string): string {
  if (key === 'accounts') return part;
  if (!ACCOUNT_KEYS.has(key)) return `accounts: [{name: a, api_key: k}]\n${part}`;
  return `accounts:\n  - name: a\n    api_key: k\n${part.replace(/^(?=.)/gm, '    ')}`;
}

test.each(PAGES)('the configurations on $path are valid', ({ path }) => {
  for (const { block, key } of BLOCKS.filter((each) => each.path === path && isOurs(each.key))) {
    const loaded = loadConfig({ path, text: fileWith(key, block) }, { NEW_RELIC_API_KEY: 'NRAK-EXAMPLE' });
    expect(loaded).toHaveProperty('config');
  }
});

const OTHERS = BLOCKS.filter(({ key }) => !isOurs(key));

test('every other block of YAML belongs to a known program', () => {
  expect(OTHERS.map(({ key }) => key).toSorted()).toEqual([
    ...['global', 'groups', 'groups', 'groups', 'groups', 'groups'],
    ...['receivers', 'remote_write', 'route'],
    ...['scrape_configs', 'scrape_configs', 'scrape_configs', 'tls_server_config'],
  ]);
});

const COLLECTOR = z.object({
  receivers: z.object({ prometheus: z.object({ config: z.object({ scrape_configs: z.array(z.unknown()) }) }) }),
});

/** The configuration of Prometheus within one of the OpenTelemetry collector. */
function receivedBy(collector: string): string {
  return stringify(COLLECTOR.parse(parse(collector)).receivers.prometheus.config);
}

const LINT = ['--lint=all', '--lint-fatal'];
/** The program and the arguments that check files of a key. */
const CHECKS = {
  // Prometheus as an agent takes no rules.
  global: ['promtool', 'check', 'config', '--agent', ...LINT],
  groups: ['promtool', 'check', 'rules', ...LINT],
  // A collector's receiver, of which Prometheus knows the inner configuration.
  receivers: ['promtool', 'check', 'config', ...LINT],
  remote_write: ['promtool', 'check', 'config', ...LINT],
  route: ['amtool', 'check-config'],
  scrape_configs: ['promtool', 'check', 'config', ...LINT],
  tls_server_config: ['promtool', 'check', 'web-config'],
} as const;

await describeReal('the programs for which the pages show YAML', {
  tools: ['promtool', 'amtool'],
  lines: BOTH_LINES,
  define: (program) => {
    let pair: KeyPair;
    beforeAll(async () => {
      pair = await certificate('localhost', LOCALHOST, await authority('test authority'));
    });

    test.each(Object.entries(CHECKS))('accepts every block of %s', (key, [tool, ...args]) =>
      inFolder(async (folder) => {
        // What a file of the pages names beside itself: the repository's rules, a certificate and its key.
        symlinkSync(join(ROOT, 'monitoring'), join(folder, 'monitoring'));
        writeFileSync(join(folder, 'exporter.crt'), pair.cert);
        writeFileSync(join(folder, 'exporter.key'), pair.key);
        const files = OTHERS.filter((each) => each.key === key).map(({ block }, index) => {
          const file = join(folder, `${index}.yaml`);
          writeFileSync(
            file,
            key === 'receivers' ? receivedBy(block) : block.replace('$2y$10$...', hashSync('a password', 4)),
          );
          return file;
        });
        expect(await run(program(tool), [...args, ...files])).toMatchObject({ status: 0 });
      }),
    );
  },
});
