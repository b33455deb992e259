import { cpSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { inFolder } from '../support/folder.ts';
import { run } from './support/processes.ts';
import { BOTH_LINES, describeReal } from './support/realPrograms.ts';

const ROOT = resolve(import.meta.dirname, '../..');

await describeReal('the Prometheus configurations', {
  tools: ['promtool'],
  lines: BOTH_LINES,
  define: (program) => {
    test.each(['prometheus.yaml', 'service-discovery.yaml'])('promtool accepts %s with its rules', (file) =>
      inFolder(async (folder) => {
        cpSync(join(ROOT, 'monitoring/rules'), join(folder, 'rules'), { recursive: true });
        cpSync(join(ROOT, 'deploy/prometheus', file), join(folder, file));
        const check = await run(program('promtool'), ['check', 'config', '--lint=all', '--lint-fatal', file], {
          cwd: folder,
        });
        expect(check).toMatchObject({ status: 0, stderr: '' });
        expect(check.stdout).toMatch(/3 rule files found/);
      }),
    );
  },
});

await describeReal('the Alertmanager configuration', {
  tools: ['amtool'],
  lines: BOTH_LINES,
  define: (program) => {
    const file = join(ROOT, 'deploy/alertmanager/alertmanager.yaml');

    test('is accepted by amtool', async () => {
      const check = await run(program('amtool'), ['check-config', file]);
      expect(check).toMatchObject({ status: 0 });
      expect(check.stdout).toMatch(/2 receivers/);
    });

    test.each([
      ['critical', 'page'],
      ['warning', 'ticket'],
    ])('sends an alert of severity %s to the receiver %s', async (severity, receiver) => {
      const args = ['config', 'routes', 'test', `--config.file=${file}`, `severity=${severity}`];
      expect(await run(program('amtool'), args)).toMatchObject({ status: 0, stdout: `${receiver}\n` });
    });
  },
});

await describeReal('the systemd units', {
  tools: ['systemd-analyze'],
  define: (program) => {
    /** Copies the units with the Node of this machine, since verify wants the program to be there. */
    const units = (folder: string): void => {
      cpSync(join(ROOT, 'deploy/systemd'), folder, { recursive: true });
      for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
        if (!/\.(service|conf)$/.test(name) || name.endsWith('.d')) continue;
        const text = readFileSync(join(folder, name), 'utf8');
        writeFileSync(join(folder, name), text.replaceAll('=/usr/bin/node ', `=${process.execPath} `));
      }
    };

    test.each(['newrelic-apm-exporter.service', 'newrelic-apm-exporter.socket'])('systemd accepts %s', (unit) =>
      inFolder(async (folder) => {
        units(folder);
        expect(await run(program('systemd-analyze'), ['verify', join(folder, unit)])).toMatchObject({
          status: 0,
          stderr: '',
        });
      }),
    );

    test('systemd-analyze rates the exposure of the service under 2 of 10', () =>
      inFolder(async (folder) => {
        units(folder);
        const unit = join(folder, 'newrelic-apm-exporter.service');
        const args = ['security', '--offline=true', '--threshold=20', unit];
        expect(await run(program('systemd-analyze'), args)).toMatchObject({ status: 0 });
      }));
  },
});
