import { describe, expect, it } from 'vitest';
import { type Start, renderCommandLine } from '../../src/cli/typed.ts';

const CLONE = '/home/ada/exporter';
const BIN = '/usr/local/bin';

/** A process started with `node` in a clone, with some differences. */
function started(script: string, difference: Partial<Start> = {}): Start {
  return { argv: ['/usr/bin/node', script], argv0: 'node', pid: 812, ppid: 700, cwd: () => CLONE, ...difference };
}

describe('the printed command line is the one that the user types', () => {
  it.each<[string, Start, string]>([
    ['in a clone', started(`${CLONE}/dist/main.js`), 'node dist/main.js'],
    ['from another folder', started(`${CLONE}/dist/main.js`, { cwd: () => '/tmp' }), `node ${CLONE}/dist/main.js`],
    ['in the folder of the program', started('/srv/dist/main.js', { cwd: () => '/srv/dist' }), 'node main.js'],
    [
      'with another Node.js',
      started(`${CLONE}/dist/main.js`, { argv0: '/opt/node24/bin/node' }),
      '/opt/node24/bin/node dist/main.js',
    ],
    ['as an installed command', started(`${BIN}/newrelic-apm-exporter`), 'newrelic-apm-exporter'],
    [
      'in a container',
      started('/app/dist/main.js', { pid: 1, ppid: 0, cwd: () => '/etc/newrelic-apm-exporter' }),
      'docker run ... newrelic-apm-exporter',
    ],
    [
      'in a container with an init process',
      started('/app/dist/main.js', { pid: 7, ppid: 1, cwd: () => '/' }),
      'docker run ... newrelic-apm-exporter',
    ],
    [
      'in a shell of a container',
      started('/app/dist/main.js', { pid: 31, ppid: 20, cwd: () => '/tmp' }),
      'node /app/dist/main.js',
    ],
    ['by another program', started(`${CLONE}/node_modules/vitest/worker.js`), 'newrelic-apm-exporter'],
    ['without a script', started(''), 'newrelic-apm-exporter'],
  ])('%s', (_, start, program) => {
    expect(renderCommandLine('check', '--live', start)).toBe(`${program} check --live`);
    expect(renderCommandLine('check', '', start)).toBe(`${program} check`);
  });
});
