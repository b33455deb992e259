import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listen } from '../api/support/testServer.ts';
import { NO_PROXY_ROWS } from '../support/noProxyRows.ts';
import { runCommand } from './support/processes.ts';
import { describeReal, type RealProgram } from './support/realPrograms.ts';

/** A proxy that counts its connections and makes no tunnels. */
async function startRecorder(): Promise<{ port: number; connections: () => number; close: () => Promise<void> }> {
  const server = createServer();
  server.on('connect', (_, socket) => socket.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n'));
  return listen(server);
}

/** Whether a command connects to the proxy of its environment, whose address `command` gets as `host:port`. */
async function wayOf(
  command: (proxy: string) => readonly [string, ...string[]],
  variables: (proxy: string) => Readonly<Record<string, string>>,
): Promise<'direct' | 'proxy'> {
  const recorder = await startRecorder();
  try {
    const proxy = `127.0.0.1:${recorder.port}`;
    const cleared = ['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'].flatMap((name) => [
      name,
      name.toUpperCase(),
    ]);
    const settings = Object.entries(variables(proxy)).map(([name, value]) => `${name}=${value}`);
    const unset = cleared.flatMap((name) => ['-u', name]);
    await runCommand(['env', ...unset, ...settings, ...command(proxy)]);
    return recorder.connections() > 0 ? 'proxy' : 'direct';
  } finally {
    await recorder.close();
  }
}

/** Where curl needs no proxy, it connects to a closed port of this machine. */
const curlCommand = (curl: RealProgram, url: string) => (): readonly [string, ...string[]] => [
  ...curl.command,
  '--silent',
  '--max-time',
  '20',
  '--connect-to',
  '::127.0.0.1:1',
  url,
];

/** Each program reads the variable of its own preference where both cases are set. */
const VARIABLES: readonly [Record<string, string>, curl: 'direct' | 'proxy', go: 'direct' | 'proxy'][] = [
  [{ HTTPS_PROXY: 'P' }, 'proxy', 'proxy'],
  [{ https_proxy: 'P' }, 'proxy', 'proxy'],
  [{ https_proxy: '', HTTPS_PROXY: 'P' }, 'proxy', 'proxy'],
  [{ https_proxy: 'P', HTTPS_PROXY: 'http://127.0.0.1:1' }, 'proxy', 'direct'],
  [{ HTTPS_PROXY: 'P', no_proxy: '', NO_PROXY: '*' }, 'direct', 'direct'],
  [{ HTTPS_PROXY: 'P', no_proxy: '*', NO_PROXY: 'other.com' }, 'direct', 'proxy'],
  [{ HTTPS_PROXY: 'P', no_proxy: 'other.com', NO_PROXY: '*' }, 'proxy', 'direct'],
  [{ HTTP_PROXY: 'P', http_proxy: 'P' }, 'direct', 'direct'],
  [{ ALL_PROXY: 'P' }, 'proxy', 'direct'],
];

await describeReal("the table of NO_PROXY is curl's", {
  tools: ['curl'],
  define: (program) => {
    test.each(NO_PROXY_ROWS)('with NO_PROXY="$noProxy" a call to $url goes $curl', async ({ url, noProxy, curl }) => {
      const variables = (proxy: string) => ({ HTTPS_PROXY: `http://${proxy}`, NO_PROXY: noProxy });
      expect(await wayOf(curlCommand(program('curl'), url), variables)).toBe(curl);
    });

    test.each(VARIABLES)('with %j a call goes %s', async (texts, way) => {
      expect(await wayOf(curlCommand(program('curl'), 'https://api.example.com/'), withProxy(texts))).toBe(way);
    });
  },
});

await describeReal("the table of NO_PROXY is Go's", {
  tools: ['goCompiler'],
  define: (program) => {
    let folder = '';
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'proxies-'));
      const source = join(import.meta.dirname, 'proxies.go');
      const env = { GO111MODULE: 'off', GOFLAGS: '' };
      const args = ['build', '-o', join(folder, 'client'), source];
      const { status, stderr } = await runCommand([...program('goCompiler').command, ...args], { env, limit: 600_000 });
      if (status !== 0) throw new Error(stderr);
    }, 600_000);
    afterAll(() => rmSync(folder, { recursive: true, force: true }));
    const client = (url: string) => (proxy: string) => [join(folder, 'client'), url, proxy] as const;

    test.each(NO_PROXY_ROWS)('with NO_PROXY="$noProxy" a call to $url goes $go', async ({ url, noProxy, go }) => {
      const variables = (proxy: string) => ({ HTTPS_PROXY: `http://${proxy}`, NO_PROXY: noProxy });
      expect(await wayOf(client(url), variables)).toBe(go);
    });

    test.each(VARIABLES)('with %j a call goes %s in curl, and %s in Go', async (texts, _, way) => {
      expect(await wayOf(client('https://api.example.com/'), withProxy(texts))).toBe(way);
    });
  },
});

function withProxy(texts: Readonly<Record<string, string>>): (proxy: string) => Record<string, string> {
  return (proxy) =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text === 'P' ? `http://${proxy}` : text]));
}
