import { Agent } from 'undici';
import { pagesOf, type FleetSize } from './fleet.ts';
import { withExporter } from './fleetCost.ts';
import { inParallel } from './inParallel.ts';
import type { Row } from './rows.ts';

const AT_ONCE = 32;
const LATENCY_MS = 50;

/** Compares the calls of the first and the next refresh with the minimum, and counts calls of further scrapes. */
export async function callRows(runs: number): Promise<Row[]> {
  const size = { applications: 100, hostsPerApplication: 3 };
  const least = leastCalls(size);
  const first: number[] = [];
  const next: number[] = [];
  const further: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    await withExporter(size, 0, async (exporter, upstream) => {
      await exporter.scrape();
      const { calls: afterFirst } = await upstream.usage();
      await exporter.nextWindow();
      await exporter.scrape();
      const { calls: afterNext } = await upstream.usage();
      await exporter.scrape({ gzip: true });
      await exporter.scrape();
      const { calls: afterAll } = await upstream.usage();
      first.push(afterFirst);
      next.push(afterNext - afterFirst);
      further.push(afterAll - afterNext);
    });
  }
  const minimum = (calls: number) => ({ what: 'the minimum', runs: [calls] });
  return [
    {
      what: 'Calls of the first refresh (names and host lists included)',
      unit: 'calls',
      runs: first,
      reference: minimum(least + 2 * size.applications),
      aim: { kind: 'mostTimes', limit: 1 },
    },
    {
      what: 'Calls per refresh',
      unit: 'calls',
      runs: next,
      reference: minimum(least),
      aim: { kind: 'mostTimes', limit: 1 },
    },
    {
      what: 'Calls of two further scrapes in the window',
      exposition: 'following',
      unit: 'calls',
      runs: further,
      reference: minimum(0),
      aim: { kind: 'most', limit: 0 },
    },
  ];
}

/** Returns the minimum: pages of applications and key transactions, one call per application, one per host. */
function leastCalls({ applications, hostsPerApplication }: FleetSize): number {
  return pagesOf(applications) + 1 + applications * (1 + hostsPerApplication);
}

/** Compares a first refresh with the least time for its calls, and with the time of undici alone. */
export async function refreshRows(runs: number, applications: number): Promise<Row[]> {
  const size = { applications, hostsPerApplication: 5 };
  const walls: number[] = [];
  const ideals: number[] = [];
  const bare: number[] = [];
  const bareIdeals: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    await withExporter(size, LATENCY_MS, async (exporter, upstream) => {
      walls.push((await exporter.scrape({ gzip: true })).milliseconds);
      const { calls } = await upstream.usage();
      ideals.push((Math.ceil(calls / AT_ONCE) + pagesOf(applications)) * LATENCY_MS);
      const rounds = 40;
      bare.push(await bareCalls(upstream.address, rounds * AT_ONCE));
      bareIdeals.push(rounds * LATENCY_MS);
    });
  }
  return [
    {
      what: `First refresh and its exposition, ${applications} applications with 5 hosts each`,
      exposition: 'first',
      unit: 'ms',
      runs: walls,
      reference: { what: `(ceil(calls / ${AT_ONCE}) + list pages) x ${LATENCY_MS} ms`, runs: ideals },
      aim: { kind: 'mostTimes', limit: 1.07 },
    },
    {
      what: 'undici and JSON alone, 1280 calls',
      unit: 'ms',
      runs: bare,
      reference: { what: `calls / ${AT_ONCE} x ${LATENCY_MS} ms`, runs: bareIdeals },
      aim: undefined,
    },
  ];
}

async function bareCalls(address: string, calls: number): Promise<number> {
  const agent = new Agent({ connections: AT_ONCE });
  const { origin } = new URL(address);
  const started = performance.now();
  await inParallel(calls, AT_ONCE, async () => {
    const { body } = await agent.request({ origin, path: '/v2/applications/1/metrics/data.json', method: 'GET' });
    JSON.parse(await body.text());
  });
  const taken = performance.now() - started;
  await agent.destroy();
  return taken;
}
