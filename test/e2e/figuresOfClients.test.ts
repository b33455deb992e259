import { setTimeout as pause } from 'node:timers/promises';
import { Agent } from 'undici';
import { hashSync } from 'bcryptjs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSimulator, type Simulator } from '../../simulator/simulator.ts';
import { until } from '../real/support/until.ts';
import { hostileClients, passwordLine, requestText, type HostileClient } from '../web/support/hostile.ts';
import { get, type Got } from '../web/support/http.ts';
import { nerdGraphAccount } from './support/config.ts';
import { residentBytes } from './support/processFacts.ts';
import { startExporter, type Exporter } from './support/program.ts';

/** Memory that all hostile clients may cost together, in bytes. */
const MEMORY = 150e6;
/** What clients hold is outside the heap. A small heap has room for little garbage, whose size depends on when V8 collects it. */
const SMALL_HEAP = ['--max-old-space-size=160', '--max-semi-space-size=8'];
const TIMEOUT_SECONDS = 10;
/** Probes without a pause would take the processor time that they measure. */
const BETWEEN_PROBES_MS = 20;

const AUTHORIZATION = passwordLine('prometheus:correct horse').replace('Authorization: ', '');
const NEW_AUTHORIZATION = passwordLine('second:battery staple').replace('Authorization: ', '');

let simulator: Simulator;
let exporter: Exporter;
const attackers: HostileClient[] = [];

beforeAll(async () => {
  simulator = await startSimulator({ applications: 1_340 });
  const hour = Object.fromEntries(
    ['applications', 'application_metrics', 'hosts', 'host_metrics', 'key_transactions'].map((name) => [name, '1h']),
  );
  const config = { accounts: [nerdGraphAccount(simulator)], collection: { intervals: hour } };
  const hashes = `prometheus: '${hashSync('correct horse', 4)}', second: '${hashSync('battery staple', 10)}'`;
  exporter = await startExporter({
    config,
    files: { 'web.yaml': `basic_auth_users: {${hashes}, third: '${hashSync('x', 10)}'}\n` },
    flags: ['--web.config.file=web.yaml'],
    nodeArgs: SMALL_HEAP,
  });
  await until('100,000 series', async () => (await scrape()).text.split('\n').length > 100_000);
});

afterAll(async () => {
  attackers.forEach(({ socket }) => socket.destroy());
  await exporter.stop();
  await simulator.close();
});

async function scrape(authorization = AUTHORIZATION, agent?: Agent): Promise<Got> {
  const headers = { authorization, 'X-Prometheus-Scrape-Timeout-Seconds': String(TIMEOUT_SECONDS) };
  return await get(`${exporter.url}/metrics`, { headers, ...(agent === undefined ? {} : { agent }) });
}

/**
 * Runs an attack, then a scrape, and probes of health meanwhile. All must succeed. Returns the most memory and the longest times.
 * Prints the times, and tests none: on a busy machine they vary.
 */
async function cost(attack: () => Promise<unknown>) {
  const before = residentBytes(exporter.pid);
  const most = { memory: 0, scrapeMs: 0, healthMs: 0 };
  let isOver = false;
  const timed = async (key: 'scrapeMs' | 'healthMs', request: () => Promise<Got>): Promise<void> => {
    const from = performance.now();
    expect((await request()).status).toBe(200);
    most[key] = Math.max(most[key], performance.now() - from);
    most.memory = Math.max(most.memory, residentBytes(exporter.pid) - before);
  };
  const probing = (async () => {
    while (!isOver) {
      await timed('healthMs', () => get(`${exporter.url}/-/healthy`));
      await pause(BETWEEN_PROBES_MS);
    }
  })();
  await attack();
  await timed('scrapeMs', scrape);
  isOver = true;
  await probing;
  process.stderr.write(`Clients: ${JSON.stringify(most)}\n`);
  return most;
}

const SELECTIONS = [
  '',
  '?collect[]=application_metrics&collect[]=host_metrics',
  '?collect[]=applications&collect[]=hosts',
];

/** As many selections, each with an exposition of its own, which is large. */
function differentSelections(count: number): string[] {
  const others = ['application_metrics', 'hosts', 'key_transactions', 'instances', 'counters', 'exporter'];
  return Array.from({ length: count }, (_, bits) =>
    ['?collect[]=host_metrics', ...others.filter((_each, index) => (bits >> index) & 1)].join('&collect[]='),
  );
}

/** Clients that read nothing of large answers. */
async function readNothing(count: number, selections: readonly string[]): Promise<void> {
  const clients = await hostileClients(count, exporter.port, { deaf: true });
  for (const [index, { socket }] of clients.entries()) {
    const target = `/metrics${selections[index % selections.length]}`;
    socket.write(requestText(target, [`Authorization: ${AUTHORIZATION}`]));
  }
  attackers.push(...clients);
  await until('the first answers', () => clients.filter(({ socket }) => socket.bytesRead > 0).length >= 8);
}

/** Clients that send nothing, or one byte every now and then. */
async function keepConnected(count: number): Promise<void> {
  for (let begun = 0; begun < count; begun += 100) attackers.push(...(await hostileClients(100, exporter.port)));
  attackers.forEach(({ socket }, index) => index % 2 === 0 && socket.write('G'));
}

test('40 clients that read nothing of 100,000 series cost little memory, and scrapes and health are answered', async () => {
  expect((await cost(() => readNothing(40, SELECTIONS))).memory).toBeLessThan(MEMORY);
});

test('40 clients that read nothing of 40 selections cost as little, and the scraper goes first', async () => {
  expect((await cost(() => readNothing(40, differentSelections(40)))).memory).toBeLessThan(MEMORY);
});

test('600 connections without a complete request keep out neither a scraper nor a probe of health', async () => {
  expect((await cost(() => keepConnected(600))).memory).toBeLessThan(MEMORY);
});

test('a flood of wrong passwords keeps out neither a known scraper nor a new scraper', async () => {
  let isOver = false;
  let sent = 0;
  const guess = async (client: number): Promise<void> => {
    for (let round = 0; !isOver; round += 1) {
      const authorization = passwordLine(`third:${client} ${round}`).replace('Authorization: ', '');
      const { status } = await get(`${exporter.url}/metrics`, { headers: { authorization } });
      expect([401, 503]).toContain(status);
      sent += 1;
    }
  };
  const flood = Promise.all(Array.from({ length: 20 }, (_, client) => guess(client)));
  await until('the flood', () => sent > 20);
  await cost(() => Promise.resolve());
  const another = new Agent({ localAddress: '127.0.0.2' });
  const from = performance.now();
  expect((await scrape(NEW_AUTHORIZATION, another)).status).toBe(200);
  const newMs = performance.now() - from;
  isOver = true;
  await flood;
  await another.close();
  process.stderr.write(`Clients: a new scraper ${Math.round(newMs)} ms beside ${sent} wrong passwords\n`);
});
