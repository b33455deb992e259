import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { runCommand } from '../real/support/processes.ts';

/** Runs the audit against a registry that answers npm's one question like this; the question is what npm asks. */
async function audit(reply: (asked: Record<string, string[]>) => unknown, status = 200) {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.url !== '/-/npm/v1/security/advisories/bulk') return void response.writeHead(404).end('{}');
      const body = Buffer.concat(chunks);
      const asked = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(reply(JSON.parse(asked.toString('utf8')) as Record<string, string[]>)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const env = { npm_config_registry: `http://127.0.0.1:${port}/`, npm_config_fetch_retries: '0' };
    const command = [process.execPath, '--import', 'tsx', 'scripts/audit.ts'] as const;
    return await runCommand(command, { env, limit: 120_000 });
  } finally {
    server.close();
  }
}

const advisory = (title: string) => [
  { id: 1, url: 'https://advisories.example/1', title, severity: 'high', vulnerable_versions: '>=0' },
];

test('a vulnerability of a bundled library is reported and fails the audit', async () => {
  const { status, stdout } = await audit((asked) => {
    expect(asked).toHaveProperty('undici');
    return { undici: advisory('Requests are smuggled') };
  });
  expect(stdout).toMatch(
    /^undici@\S+ is built in\. high: Requests are smuggled \(https:\/\/advisories\.example\/1\)$/m,
  );
  expect(status).toBe(1);
});

test('a vulnerability of a build tool is counted and does not fail the audit', async () => {
  const { status, stdout } = await audit(() => ({ prettier: advisory('Formats too much') }));
  expect(stdout).toMatch(/^Of \d\d+ packages in dist, 0 have a known weakness; [1-9]\d* tools have one\.$/m);
  expect(status).toBe(0);
});

test('a registry that does not answer gives no verdict', async () => {
  const { status, stdout } = await audit(() => ({ error: 'not here' }), 405);
  expect([status, stdout]).toEqual([2, expect.stringContaining('the registry would not answer')]);
});
