import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { account, type ConfigInput } from '../e2e/support/config.ts';
import { runTool } from './support/tool.ts';

interface NamesDocument {
  readonly application: { readonly id: number };
  readonly complete: boolean;
  readonly metrics: readonly { readonly name: string; readonly values: readonly string[] }[];
}

let simulator: Simulator;
let config: ConfigInput;
beforeAll(async () => {
  simulator = await startSimulator({ applications: 16, hostsPerApplication: 1 });
  config = { accounts: [account(simulator)] };
});
afterAll(() => simulator.close());

describe('metric-names', () => {
  it('reads all pages through the cursor and stops at the empty one', async () => {
    simulator.requests.clear();
    const { status, stdout } = await runTool(['metric-names', '--app=1000002', '--format=json'], { config });
    const { metrics, complete } = JSON.parse(stdout) as NamesDocument;
    expect({ status, complete }).toEqual({ status: 0, complete: true });
    expect(metrics.length).toBeGreaterThan(2000);
    expect(new Set(metrics.map(({ name }) => name)).size).toBe(metrics.length);
    expect(simulator.requests.counts()).toEqual({ applications: 1, metric_names: 3 });
  });

  it('narrows by name and shows the value names', async () => {
    const { stdout } = await runTool(['metric-names', '--app=Storefront', '--name=Custom/Queue'], { config });
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/));
    expect(rows.map(([name]) => name)).toEqual([
      'METRIC',
      'Custom/Queue/invoices/depth',
      'Custom/Queue/mail/depth',
      'Custom/Queue/with "quotes" and \\/depth',
    ]);
    expect(rows[1]?.[1]?.split(' ')).toContain('average_value');
  });

  it('passes names with brackets, percent signs and other letters on as they are', async () => {
    const { stdout } = await runTool(['metric-names', '--app=1000015', '--name=[bytes|host] 100%', '--format=json'], {
      config,
    });
    expect((JSON.parse(stdout) as NamesDocument).metrics.map(({ name }) => name)).toEqual([
      'Custom/Gauge[bytes|host] 100%/Größe',
    ]);
  });

  it('says that an application is unknown, or that several have the name and which ids they have', async () => {
    const [unknown, several] = await Promise.all([
      runTool(['metric-names', '--app=Nowhere'], { config }),
      runTool(['metric-names', '--app=Checkout API'], { config }),
    ]);
    expect(unknown).toEqual({
      status: 1,
      stdout: '',
      stderr: 'no application has the id or name "Nowhere": the command discover lists them\n',
    });
    expect(several).toEqual({
      status: 1,
      stdout: '',
      stderr: '2 applications have the name "Checkout API": give one of their ids (1000002, 1000014)\n',
    });
  });

  it('finds an id although another account cannot be read, but does not guess at a name', async () => {
    const both = { accounts: [account(simulator, 'bad', { api_key: 'wrong' }), account(simulator, 'good')] };
    const [byId, byName] = await Promise.all([
      runTool(['metric-names', '--app=1000001', '--name=Custom', '--format=json'], { config: both }),
      runTool(['metric-names', '--app=Storefront', '--name=Custom'], { config: both }),
    ]);
    expect({ status: byId.status, stderr: byId.stderr }).toEqual({ status: 0, stderr: '' });
    expect((JSON.parse(byId.stdout) as NamesDocument).application.id).toBe(1000001);
    expect(byName.status).toBe(1);
    expect(byName.stderr).toMatch(/^account bad: the application list cannot be read: GET .*status 401.*\n$/);
  });

  it('reads 20 pages without --all-pages, says that the list goes on, and ends with 1', async () => {
    const upstream = await startLongList(23);
    const long = { accounts: [account({ url: upstream.url })] };
    const some = await runTool(['metric-names', '--app=1', '--format=json'], { config: long });
    expect(some.status).toBe(1);
    expect(some.stderr).toMatch(
      /^the list goes on after 20 pages \(20 names\): narrow it with --name, or .*--all-pages/,
    );
    expect(JSON.parse(some.stdout)).toMatchObject({ complete: false });
    expect(upstream.pages()).toBe(20);

    const all = await runTool(['metric-names', '--app=1', '--all-pages', '--format=json'], { config: long });
    upstream.close();
    const { complete, metrics } = JSON.parse(all.stdout) as NamesDocument;
    expect({ status: all.status, stderr: all.stderr }).toEqual({ status: 0, stderr: '' });
    expect({ complete, names: metrics.length }).toEqual({ complete: true, names: 23 });
  });
});

/** One application with a name per page; the last page's `next` has an empty cursor. */
async function startLongList(pages: number) {
  let read = 0;
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    response.setHeader('Content-Type', 'application/json');
    if (pathname.endsWith('/applications.json')) {
      response.end(JSON.stringify({ applications: [{ id: 1, name: 'Long' }] }));
      return;
    }
    read += 1;
    const page = Number(searchParams.get('cursor') ?? '1');
    const next = new URL(request.url ?? '', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    next.searchParams.set('cursor', page < pages ? String(page + 1) : '');
    response.setHeader('Link', `<${next.href}>; rel="next"`);
    response.end(JSON.stringify({ metrics: [{ name: `Custom/${page}`, values: ['call_count'] }] }));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    pages: () => read,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
