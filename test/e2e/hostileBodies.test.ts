import { createServer, type ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listen } from '../api/support/testServer.ts';
import { until } from '../real/support/until.ts';
import { value, type ParsedFamily } from '../support/exposition.ts';
import { startExporter, type Exporter } from './support/program.ts';

const MIB = 1024 * 1024;
const ACCOUNT = 1_234_567;

/** As many of these as fit into a number of bytes. */
const fill = (part: string, bytes: number): string => part.repeat(Math.floor(bytes / part.length));

/** Bodies that are broad, deep or long, each a little shorter than the longest that is read. */
const BODIES: Readonly<Record<string, (bytes: number) => string>> = {
  'empty objects beside an error': (bytes) => `{"error":"x","a":[${fill('{},', bytes - 50)}{}]}`,
  'errors that are numbers': (bytes) => `{"errors":[${fill('0,', bytes - 50)}0]}`,
  'objects in the list that is wanted': (bytes) =>
    `{"applications":[${fill('{},', bytes - 99)}{}],"metric_data":{"metrics":[{}]}}`,
  'lists in lists': (bytes) =>
    `{"a":${'['.repeat(Math.floor(bytes / 2) - 20)}${']'.repeat(Math.floor(bytes / 2) - 20)}}`,
  'objects in objects': (bytes) => `${fill('{"a":', bytes - 10)}1`,
  'members of different names': (bytes) =>
    `{${Array.from({ length: Math.floor(bytes / 12) }, (_, index) => `"k${index}":1`).join(',')}}`,
  'escaped letters': (bytes) => `{"error":"${fill('\\u0041', bytes - 50)}"}`,
  'escaped quotes': (bytes) => `{"error":{"title":"${fill('\\"', bytes - 50)}"}}`,
  'more bytes than are read': (bytes) => `{"a":"${' '.repeat(2 * bytes)}"}`,
};
const NAMES = Object.keys(BODIES);
/** What is answered so: the list of a REST account, its metric data, the search of NerdGraph, its queries. */
const TARGETS = { list: 8 * MIB, data: 4 * MIB, search: 8 * MIB, nrql: 16 * MIB } as const;
type TargetName = keyof typeof TARGETS;
const ALL = Object.keys(TARGETS) as readonly TargetName[];

/** Compressed before anything is asked for: a server that is busy with that closes connections which are in use again. */
const PACKED = new Map(
  [...new Set(Object.values(TARGETS))].flatMap((bytes) =>
    Object.entries(BODIES).map(([name, body]) => [`${bytes} ${name}`, gzipSync(body(bytes), { level: 1 })]),
  ),
);

function respond(response: ServerResponse, target: TargetName, name: string): void {
  response.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'application/json' });
  response.end(PACKED.get(`${TARGETS[target]} ${name}`));
}

const LIST = { applications: [{ id: 1, name: 'shop', language: 'java', health_status: 'green', reporting: true }] };
const ENTITY = { guid: 'g', name: 'shop', accountId: ACCOUNT, reporting: true, applicationId: 1, language: 'java' };
const SEARCH = { data: { actor: { entitySearch: { count: 1, results: { nextCursor: null, entities: [ENTITY] } } } } };

let origin = '';
let exporter: Exporter;
let closeServer: () => Promise<unknown>;
const nameOf = (target: TargetName, index: number): string => `${target}-${index}`;

beforeAll(async () => {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const [, account = '', ...rest] = (request.url ?? '').split('/');
      const [target, index] = account.split('-') as [TargetName, string];
      const name = NAMES[Number(index)] ?? '';
      const path = rest.join('/');
      const text = Buffer.concat(chunks).toString();
      const isNrql = text.includes('nrql(');
      const isData = path.includes('metrics/data.json');
      const isHostile = { list: true, data: isData, search: !isNrql, nrql: isNrql }[target];
      const list = path.startsWith('v2/applications.json') ? LIST : {};
      if (isHostile) respond(response, target, name);
      else response.end(JSON.stringify(target === 'data' ? list : SEARCH));
    });
  });
  // However long the exporter reads, no connection ends under its next call.
  server.keepAliveTimeout = 600_000;
  const { port, close } = await listen(server);
  closeServer = close;
  origin = `http://127.0.0.1:${port}`;
  const accounts = ALL.flatMap((target) =>
    NAMES.map((_, index) => {
      const name = nameOf(target, index);
      const isRest = target === 'list' || target === 'data';
      const where = isRest
        ? `api: rest, base_url: ${origin}/${name}/v2`
        : `api: nerdgraph, account_id: ${ACCOUNT}, base_url: ${origin}/${name}/graphql`;
      const more = 'key_transactions: false, hosts: false, limits: {max_concurrent_requests: 2, request_timeout: 2m}';
      return `  - {name: ${name}, api_key: NRAK-0123456789ABCDEFGHIJKLMN${index}, ${where}, ${more}}`;
    }),
  );
  exporter = await startExporter({
    nodeArgs: ['--max-old-space-size=256'],
    config: `accounts:\n${accounts.join('\n')}\n`,
  });
});

afterAll(async () => {
  await exporter.stop();
  await closeServer();
});

const failuresOf = (families: readonly ParsedFamily[], account: string): ReadonlySet<string> => {
  const samples = families.find(({ name }) => name.startsWith('newrelic_exporter_api_failures'))?.samples ?? [];
  const counted = samples.filter(({ labels, value: count }) => labels['account'] === account && count > 0);
  return new Set(counted.map(({ labels }) => labels['reason'] ?? ''));
};

describe('a heap of 256 MB', () => {
  it('survives responses that are broad, deep or long, and each fails its call with a reason', async () => {
    let families: ParsedFamily[] = [];
    const silent = (): string[] =>
      ALL.flatMap((target) => NAMES.map((_, index) => nameOf(target, index))).filter(
        (account) => failuresOf(families, account).size === 0,
      );
    const failed = async (): Promise<boolean> => {
      families = await exporter.scrape('/metrics');
      return silent().length === 0;
    };
    await until('a failure of each account', failed, 240_000);
    for (const target of ALL) {
      for (const index of NAMES.keys()) {
        const reasons = [...failuresOf(families, nameOf(target, index))];
        const others = reasons.filter((reason) => !['too_large', 'invalid_response'].includes(reason));
        expect(others, `${NAMES[index] ?? ''}: ${exporter.output()}`).toEqual([]);
        const up = value(families, 'newrelic_up', { account: nameOf(target, index) });
        expect(up, `${target}: ${NAMES[index] ?? ''}`).toBe(target === 'data' || target === 'nrql' ? 1 : 0);
      }
    }
    expect((await exporter.get('/-/healthy')).status).toBe(200);
    const lag = value(families, 'nodejs_eventloop_lag_max_seconds', {});
    process.stdout.write(`longest block while such answers were read: ${String(lag)} s\n`);
  }, 300_000);
});
