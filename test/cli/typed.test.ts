import { describe, expect, it } from 'vitest';
import { type Start, typedLine } from '../../src/cli/typed.ts';

const CLONE = '/home/ada/exporter';
const BIN = '/usr/local/bin';

/** A process that was started with `node` in a clone, but for what is different. */
function started(script: string, difference: Partial<Start> = {}): Start {
  const env = { PATH: `${BIN}:/usr/bin` };
  return {
    argv: ['/usr/bin/node', script],
    argv0: 'node',
    execArgv: [],
    env,
    pid: 812,
    ppid: 700,
    folder: CLONE,
    ...difference,
  };
}

const inNpm = (more: Record<string, string>) => ({ env: { PATH: `${CLONE}/node_modules/.bin:${BIN}`, ...more } });
const demoScript = inNpm({
  npm_command: 'run-script',
  npm_lifecycle_event: 'demo',
  npm_package_name: 'newrelic-apm-exporter',
});

describe('a command line is the one that the user types', () => {
  it.each<[string, Start, string]>([
    ['in a clone', started(`${CLONE}/dist/main.js`), 'node dist/main.js'],
    ['from another folder', started(`${CLONE}/dist/main.js`, { folder: '/tmp' }), `node ${CLONE}/dist/main.js`],
    ['in the folder of the program', started('/srv/dist/main.js', { folder: '/srv/dist' }), 'node main.js'],
    [
      'with flags of Node.js',
      started(`${CLONE}/src/main.ts`, { execArgv: ['--import', 'tsx'] }),
      'node --import tsx src/main.ts',
    ],
    [
      'with another Node.js',
      started(`${CLONE}/dist/main.js`, { argv0: '/opt/node24/bin/node' }),
      '/opt/node24/bin/node dist/main.js',
    ],
    ['where a name has a space', started(`/srv/it's here/main.js`), String.raw`node '/srv/it'\''s here/main.js'`],
    ['as an installed command', started(`${BIN}/newrelic-apm-exporter`), 'newrelic-apm-exporter'],
    ['as a command that is not on PATH', started('/opt/x/newrelic-apm-exporter'), '/opt/x/newrelic-apm-exporter'],
    ['as a command in this folder', started(`${CLONE}/newrelic-apm-exporter`), './newrelic-apm-exporter'],
    [
      'by npx',
      started(`${CLONE}/node_modules/.bin/newrelic-apm-exporter`, inNpm({ npm_command: 'exec' })),
      'npx newrelic-apm-exporter',
    ],
    [
      'as the package of a project',
      started(`${CLONE}/node_modules/.bin/newrelic-apm-exporter`),
      'npx newrelic-apm-exporter',
    ],
    ['by a script of npm', started(`${CLONE}/dist/main.js`, demoScript), 'node dist/main.js'],
    [
      'in a container',
      started('/app/dist/main.js', { pid: 1, ppid: 0, folder: '/etc/newrelic-apm-exporter' }),
      'docker run ... newrelic-apm-exporter',
    ],
    [
      'in a container with an init process',
      started('/app/dist/main.js', { pid: 7, ppid: 1, folder: '/' }),
      'docker run ... newrelic-apm-exporter',
    ],
    [
      'in a shell of a container',
      started('/app/dist/main.js', { pid: 31, ppid: 20, folder: '/tmp' }),
      'node /app/dist/main.js',
    ],
    ['by another program', started(`${CLONE}/node_modules/vitest/worker.js`), 'newrelic-apm-exporter'],
    ['without a script', started(''), 'newrelic-apm-exporter'],
  ])('%s', (_, start, program) => {
    expect(typedLine('check', '--live', start)).toBe(`${program} check --live`);
    expect(typedLine('check', '', start)).toBe(`${program} check`);
  });

  it('of the script that runs the demo, also with flags', () => {
    const start = started(`${CLONE}/dist/main.js`, demoScript);
    expect(typedLine('demo', '', start)).toBe('npm run demo');
    expect(typedLine('demo', '--seed=2', start)).toBe('npm run demo -- --seed=2');
  });
});
