import { connect } from 'node:net';
import { setImmediate as breathe, setTimeout as pause } from 'node:timers/promises';
import { hashSync } from 'bcryptjs';
import { Agent } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSimulator, type Simulator } from '../../simulator/simulator.ts';
import { until } from '../real/support/until.ts';
import { certificate, LOCALHOST } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { hostileClients, passwordLine, requestText, type HostileClient } from '../web/support/hostile.ts';
import { get } from '../web/support/http.ts';
import { account, nerdGraphAccount } from './support/config.ts';
import { processorSeconds, residentBytes } from './support/processFacts.ts';
import { startExporter, type Exporter } from './support/program.ts';

/** So few that one slot which is not given back is noticed. */
const SLOTS = 4;
const RIGHT = 'prometheus:correct horse';
/** A right one that was not sent before. */
const RIGHT_AND_NEW = 'second:battery staple';
/** Memory that the process may have more than before an attack, in bytes: caches, and what the allocator keeps. */
const MEMORY_ALLOWANCE = 80e6;
const SCRAPE = requestText('/metrics', ['X-Prometheus-Scrape-Timeout-Seconds: 1']);
const LARGE = requestText('/metrics?collect[]=applications');

let simulator: Simulator;
let plain: Exporter;
let secured: Exporter;
let trusting: Agent;
let survived = 0;
const attackers: HostileClient[] = [];

beforeAll(async () => {
  simulator = await startSimulator({ applications: 150 });
  // The lists are read, once for all; whoever scrapes for more waits for upstream.
  simulator.faults.add({ effect: 'hang', on: 'metric_data' });
  const config = {
    accounts: [account(simulator, 'default', { hosts: false })],
    collection: { intervals: { applications: '1h', key_transactions: '1h' } },
  };
  const { cert, key } = await certificate('localhost', LOCALHOST);
  const web = `tls_server_config: {cert_file: s.pem, key_file: s.key}\nbasic_auth_users: {prometheus: '${hashSync('correct horse', 8)}', second: '${hashSync('battery staple', 8)}'}\n`;
  const flags = [`--web.max-requests=${SLOTS}`, '--web.enable-lifecycle'];
  plain = await startExporter({ config, flags });
  secured = await startExporter({
    config,
    files: { 'web.yaml': web, 's.pem': cert, 's.key': key },
    flags: [...flags, '--web.config.file=web.yaml'],
  });
  trusting = new Agent({ connect: { ca: cert }, connections: null, pipelining: 0 });
  await fourScrapes(plain);
  await fourScrapes(secured);
});

afterAll(async () => {
  process.stderr.write(`Hostile clients: ${survived} behaviours survived\n`);
  attackers.forEach(({ socket }) => socket.destroy());
  await trusting.close();
  await plain.stop();
  await secured.stop();
  await simulator.close();
});

interface Behaviour {
  readonly what: string;
  /** Against the exporter with TLS and passwords. */
  readonly secured?: true;
  /** Done when the attack is on its way; what it gives back stays connected. */
  readonly attack: (exporter: Exporter) => Promise<readonly HostileClient[]>;
}

/** Clients that send the same text. */
async function send(port: number, count: number, text: string, options: Parameters<typeof hostileClients>[2] = {}) {
  const clients = await hostileClients(count, port, options);
  await Promise.all(clients.map(({ socket }) => new Promise((resolve) => socket.write(text, resolve))));
  return clients;
}

/** A sample of what test/web has, each against a whole program, its memory and its log. */
const BEHAVIOURS: readonly Behaviour[] = [
  {
    what: 'a client requests 300 status documents and 41 scrapes, reads nothing and disconnects',
    attack: async ({ port }) => {
      const [client] = await send(port, 1, requestText('/api/status').repeat(300) + SCRAPE.repeat(41), { deaf: true });
      await Promise.race([client?.closed, breathe()]);
      client?.socket.destroy();
      return [];
    },
  },
  {
    what: 'a client disconnects in the middle of a compressed response, 30 times',
    attack: async ({ port }) => {
      const text = requestText('/metrics?collect[]=applications', ['Accept-Encoding: gzip']);
      const leaveTenTimes = async (): Promise<void> => {
        for (let round = 0; round < 10; round += 1) {
          const [client] = await send(port, 1, text);
          await eventually(() => expect(client?.received()).not.toBe(''));
          client?.socket.destroy();
        }
      };
      await Promise.all([leaveTenTimes(), leaveTenTimes(), leaveTenTimes()]);
      return [];
    },
  },
  {
    what: '180 wrong passwords wait on 60 open connections; a new right password still gets in',
    secured: true,
    attack: async ({ port, url }) => {
      const clients = await hostileClients(60, port, { tls: true });
      clients.forEach(({ socket }, client) => {
        socket.write(Array.from({ length: 3 }, (_, index) => wrong(1_000 + 10 * client + index)).join(''));
      });
      const headers = { authorization: authorizationOf(RIGHT_AND_NEW) };
      expect((await get(`${url}/config`, { agent: trusting, headers })).status).toBe(200);
      return clients;
    },
  },
  // The last: what follows would wait until these are cut off.
  {
    what: '12 clients request 30 large responses each and never read',
    attack: ({ port }) => send(port, 12, LARGE.repeat(30), { deaf: true }),
  },
];

const wrong = (index: number) => requestText('/metrics', [passwordLine(`prometheus:wrong ${index}`)]);

// Each of the two has exporters of its own.
describe.concurrent('an exporter survives', () => {
  describe('hostile clients', { concurrent: false }, () => {
    test.each(BEHAVIOURS)('when $what', async ({ attack, secured: locked }) => {
      const exporter = locked ? secured : plain;
      const before = residentBytes(exporter.pid);
      attackers.push(...(await attack(exporter)));
      await until('four scrapes at once', () => fourScrapes(exporter));
      await until('memory to be back', () => residentBytes(exporter.pid) < before + MEMORY_ALLOWANCE);
      const output = exporter.output();
      expect(output.match(/level=error/g)?.length ?? 0, output).toBeLessThanOrEqual(3);
      expect(output).not.toMatch(/MaxListeners|Unhandled|uncaught/i);
      survived += 1;
    });
  });

  describe('24 clients that request a page of 10,000 applications', { concurrent: false }, () => {
    const CLIENTS = 24;
    /**
     * Memory that they may cost together, in bytes. Alone on a machine, 64 clients took 110 to 170 MB. Beside other programs V8
     * collects later, so the bound is wider than what deployments leave room for.
     */
    const MEMORY = 450e6;
    /** Seconds of processor time that the exporter may use while a probe of health waits, also where the clients get no processor. */
    const WORK = 2.5;
    let fleet: Simulator;
    let exporter: Exporter;

    beforeAll(async () => {
      fleet = await startSimulator({ applications: 10_000 });
      const config = { accounts: [nerdGraphAccount(fleet)], collection: { intervals: { applications: '1h' } } };
      exporter = await startExporter({ config });
      await until('the list', async () => (await get(`${exporter.url}/sd`)).status === 200);
    });

    afterAll(async () => {
      await exporter.stop();
      await fleet.close();
    });

    /** The most work while a probe of health waited, and the memory that was taken, while `attack` ran. */
    async function during(attack: () => Promise<void>) {
      const before = residentBytes(exporter.pid);
      let memory = 0;
      let most = 0;
      let isOver = false;
      const attacked = attack().finally(() => (isOver = true));
      while (!isOver) {
        const asked = processorSeconds(exporter.pid);
        expect(await statusOf('/-/healthy')).toBe('200');
        most = Math.max(most, processorSeconds(exporter.pid) - asked);
        memory = Math.max(memory, residentBytes(exporter.pid) - before);
        // Probes without a pause would take the processor time that they measure.
        await pause(20);
      }
      await attacked;
      return { memory, most };
    }

    /** The status of a response, which is read to its end and not kept. */
    async function statusOf(target: string): Promise<string> {
      const socket = connect(exporter.port, '127.0.0.1');
      socket.write(requestText(target, ['Connection: close']));
      let status = '';
      for await (const chunk of socket as AsyncIterable<Buffer>) status ||= chunk.toString('latin1', 9, 12);
      return status;
    }

    /** Each client asks, leaves after 50 ms, and comes again once. */
    async function askAndLeave(target: () => string): Promise<void> {
      const client = async (): Promise<void> => {
        for (let visit = 0; visit < 2; visit += 1) {
          const socket = connect(exporter.port, '127.0.0.1').on('error', () => undefined);
          socket.write(requestText(target()));
          await pause(50);
          socket.destroy();
        }
      };
      await Promise.all(Array.from({ length: CLIENTS }, client));
    }

    let searches = 0;
    const search = () => `/?q=${(searches += 1)}`;

    test.each([
      ['/sd', () => '/sd'],
      ['/api/status', () => '/api/status'],
      ['/?q=, each with another search', search],
    ])('cost little memory and delay no probe of health, connected or disconnecting: %s', async (_, target) => {
      const staying = await during(async () => {
        const statuses = await Promise.all(Array.from({ length: CLIENTS }, () => statusOf(target())));
        expect(new Set(statuses)).toEqual(new Set(['200']));
      });
      const leaving = await during(() => askAndLeave(target));
      for (const { memory, most } of [staying, leaving]) {
        expect(memory).toBeLessThan(MEMORY);
        expect(most).toBeLessThan(WORK);
      }
    });
  });
});

/** True when four scrapes at once are answered with 200 and the exporter's own metrics. */
async function fourScrapes(exporter: Exporter): Promise<boolean> {
  const headers = {
    'X-Prometheus-Scrape-Timeout-Seconds': '1',
    ...(exporter === secured ? { authorization: authorizationOf(RIGHT) } : {}),
  };
  const agent = exporter === secured ? { agent: trusting } : {};
  const responses = await Promise.all(
    Array.from({ length: SLOTS }, () => get(`${exporter.url}/metrics`, { headers, ...agent })),
  );
  return responses.every(({ status, text }) => status === 200 && text.includes('newrelic_up{account="default"} 1'));
}

function authorizationOf(credentials: string): string {
  return passwordLine(credentials).replace('Authorization: ', '');
}
