import { existsSync, readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { generate } from 'selfsigned';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ROOT } from '../monitoring/ruleFiles.ts';
import { runCommand } from '../real/support/processes.ts';
import { execForm, stagesOf } from './dockerfile.ts';

const read = (path: string): string => readFileSync(resolve(ROOT, path), 'utf8');
const stages = stagesOf(read('Dockerfile'));
const runtime = stages.at(-1) ?? [];
const only = (name: string): string => {
  const found = runtime.filter((instruction) => instruction.name === name);
  expect(found).toHaveLength(1);
  return found[0]?.text ?? '';
};

describe('the image', () => {
  test('is built in a stage of its own, on the same base', () => {
    const bases = stages.map(([from]) => from?.text.replace(/ AS build$/, ''));
    expect(bases).toHaveLength(2);
    expect(bases[0]).toMatch(/^node:24-bookworm-slim(@sha256:[0-9a-f]{64})?$/);
    expect(bases[1]).toBe(bases[0]);
  });

  test('holds the built program and no node_modules: its libraries are built in', () => {
    const build = (stages[0] ?? []).filter(({ name }) => name === 'RUN').map(({ text }) => execForm(text).join(' '));
    expect(build).toEqual(['npm ci --ignore-scripts', 'npm run build']);
    expect(runtime.filter(({ text }) => text.startsWith('--from=build')).map(({ text }) => text.split(' ')[1])).toEqual(
      ['/build/package.json', '/build/dist'],
    );
  });

  test('cannot install further code: what the base image has for that is removed', () => {
    const [command = '', flags, ...paths] = only('RUN').split(/ +/);
    expect([command, flags]).toEqual(['rm', '-rf']);
    expect(paths.toSorted()).toEqual([
      '/opt/yarn*',
      ...['corepack', 'npm', 'npx', 'yarn', 'yarnpkg'].map((tool) => `/usr/local/bin/${tool}`),
      '/usr/local/lib/node_modules',
    ]);
  });

  test('needs no shell to run: what it starts is in exec form', () => {
    expect(execForm(only('ENTRYPOINT'))).toEqual(['node', '/app/dist/main.js']);
    expect(execForm(only('HEALTHCHECK')).slice(0, 2)).toEqual(['node', '-e']);
  });

  test('does not run as root, by a number that an orchestrator can check', () => {
    expect(only('USER')).toMatch(/^[1-9]\d*:[1-9]\d*$/);
  });

  test('exposes the port that the program listens on by default', () => {
    expect(only('EXPOSE')).toBe('9126');
  });

  test('gets from the context only files that exist and that .dockerignore lets through', () => {
    const allowed = new Set(
      read('.dockerignore')
        .split('\n')
        .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : [])),
    );
    const copied = stages
      .flat()
      .filter(({ name, text }) => name === 'COPY' && !text.startsWith('--from'))
      .flatMap(({ text }) => text.split(' ').slice(0, -1));
    expect(new Set(copied)).toEqual(allowed);
    for (const path of copied) expect(existsSync(resolve(ROOT, path)), path).toBe(true);
  });

  test('is built by scripts and tools that package.json has', () => {
    const file = z.object({
      scripts: z.object({ build: z.string() }),
      bin: z.record(z.string(), z.string()),
      engines: z.object({ node: z.string() }),
    });
    const { scripts, bin } = file.parse(JSON.parse(read('package.json')));
    const script = scripts.build.split(' ').at(-1) ?? '';
    expect(stages[0]?.some(({ name, text }) => name === 'COPY' && text.split(' ').includes(script))).toBe(true);
    expect(Object.values(bin)).toEqual(['dist/main.js']);
  });
});

describe('the health check', () => {
  const [, ...args] = execForm(only('HEALTHCHECK'));
  const PATH = '/-/healthy';
  const certificate = selfSigned();

  test.each([
    ['http', 200, 0],
    ['http', 503, 1],
    ['http', 401, 1],
    ['https', 200, 0],
    ['https', 503, 1],
  ])('over %s, on status %i, ends with %i', async (scheme, answer, status) => {
    const paths: (string | undefined)[] = [];
    const handle: RequestListener = ({ url }, response) => {
      paths.push(url);
      response.writeHead(answer).end();
    };
    const server = scheme === 'http' ? createServer(handle) : createTlsServer(await certificate, handle);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = server.address() as AddressInfo;
      expect(await check(`${scheme}://127.0.0.1:${port}${PATH}`)).toBe(status);
      expect(paths).toEqual([PATH]);
    } finally {
      server.close();
    }
  });

  test('ends with 1 when nothing listens', async () => {
    expect(await check(`http://127.0.0.1:1${PATH}`)).toBe(1);
  });

  test('asks on its own port, with TLS or without, when no address is given', () => {
    const [, script = ''] = args;
    expect(script).toContain(`'://127.0.0.1:${only('EXPOSE')}${PATH}'`);
    expect(script).toContain("['https' + own, 'http' + own]");
  });

  async function check(url: string): Promise<number | null> {
    const { status } = await runCommand(['env', `HEALTHCHECK_URL=${url}`, process.execPath, ...args]);
    return status;
  }

  async function selfSigned(): Promise<{ key: string; cert: string }> {
    const { private: key, cert } = await generate([{ name: 'commonName', value: 'exporter.example' }]);
    return { key, cert };
  }
});
