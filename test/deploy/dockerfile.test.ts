import { existsSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { generate } from 'selfsigned';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../monitoring/ruleFiles.ts';
import { runCommand } from '../real/support/processes.ts';
import { execForm, stagesOf } from './dockerfile.ts';
import { textOf } from './yamlFiles.ts';

const stages = stagesOf(textOf('Dockerfile'));

// What is in the image, and what its program may do: test/real/image.test.ts.
test('the image is built in a separate stage on the same base, without scripts of libraries', () => {
  const bases = stages.map(([from]) => from?.text.replace(/ AS build$/, ''));
  expect(bases).toHaveLength(2);
  expect(bases[0]).toMatch(/^node:24-bookworm-slim(@sha256:[0-9a-f]{64})?$/);
  expect(bases[1]).toBe(bases[0]);
  const build = (stages[0] ?? []).filter(({ name }) => name === 'RUN').map(({ text }) => execForm(text).join(' '));
  expect(build).toEqual(['npm ci --ignore-scripts', 'npm run build']);
});

test('the image copies only existing files from the context, and .dockerignore excludes all others', () => {
  const allowed = textOf('.dockerignore')
    .split('\n')
    .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []));
  const copied = stages
    .flat()
    .filter(({ name, text }) => name === 'COPY' && !text.startsWith('--from'))
    .flatMap(({ text }) => text.split(' ').slice(0, -1));
  expect(new Set(copied)).toEqual(new Set(allowed));
  expect(copied.filter((path) => !existsSync(resolve(ROOT, path)))).toEqual([]);
});

describe('the health check', () => {
  const healthCheck = stages.at(-1)?.find(({ name }) => name === 'HEALTHCHECK')?.text ?? '';
  const [, ...args] = execForm(healthCheck);
  const PATH = '/-/healthy';

  test.each([
    ['http', 200, 0],
    ['http', 503, 1],
    ['https', 200, 0],
    ['https', 503, 1],
  ])('over %s, on status %i, ends with %i', async (scheme, answer, status) => {
    const paths: (string | undefined)[] = [];
    const handle: RequestListener = ({ url }, response) => {
      paths.push(url);
      response.writeHead(answer).end();
    };
    const server = scheme === 'http' ? createServer(handle) : createTlsServer(await selfSigned(), handle);
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

  async function check(url: string): Promise<number | null> {
    const { status } = await runCommand(['env', `HEALTHCHECK_URL=${url}`, process.execPath, ...args]);
    return status;
  }

  async function selfSigned() {
    const { private: key, cert } = await generate([{ name: 'commonName', value: 'exporter.example' }]);
    return { key, cert };
  }
});
