/**
 * Serves a canned upstream in a separate process:
 * `node --import tsx bench/upstream.ts <applications> <hosts> <latency ms>`. Answers REST under `/v2`, with prepared
 * bodies, and NerdGraph under `/graphql`. Sends its port to its parent, and on `usage` the number of calls so far.
 */
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { graphqlBody, type GraphqlRequest } from './upstreamNerdGraph.ts';
import {
  applicationPages,
  hostsBody,
  KEY_TRANSACTIONS,
  METRIC_NAMES,
  metricDataBodies,
  seriesBody,
} from './upstreamRest.ts';

export interface UpstreamUsage {
  readonly calls: number;
  /** The most calls in flight so far. */
  readonly atOnce: number;
}

const [applications = 0, hostsPerApplication = 0, latency = 0] = process.argv.slice(2).map(Number);
const metricData = metricDataBodies();
const pages = applicationPages({ applications, hostsPerApplication });
const hosts = Array.from({ length: applications }, (_, index) => hostsBody(index + 1, hostsPerApplication));

let calls = 0;
let atOnce = 0;
let underWay = 0;

function findBody(url: string, response: ServerResponse): Buffer | undefined {
  if (url.includes('/metrics/data.json')) {
    const variant = calls % metricData.length;
    return url.includes('summarize=true') ? metricData[variant] : seriesBody(url, variant);
  }
  if (url.includes('/metrics.json')) return METRIC_NAMES;
  if (url.includes('/key_transactions.json')) return KEY_TRANSACTIONS;
  const application = /\/applications\/(\d+)\/hosts\.json/.exec(url)?.[1];
  if (application !== undefined) return hosts[Number(application) - 1];
  const page = Number(/[?&]page=(\d+)/.exec(url)?.[1] ?? 1);
  if (page < pages.length) {
    response.setHeader(
      'Link',
      `<http://${response.req.headers.host ?? ''}/v2/applications.json?page=${page + 1}>; rel="next"`,
    );
  }
  return pages[page - 1];
}

const server = createServer((request, response) => {
  calls += 1;
  underWay += 1;
  atOnce = Math.max(atOnce, underWay);
  const arrived = performance.now();
  const respond = (body: Buffer): void => {
    underWay -= 1;
    response.setHeader('Content-Type', 'application/json');
    response.setHeader('Content-Length', body.length);
    response.end(body);
  };
  const respondLater = (body: Buffer): void => {
    const remaining = latency - (performance.now() - arrived);
    if (remaining <= 0) respond(body);
    else setTimeout(respond, remaining, body);
  };
  if (request.method !== 'POST') {
    respondLater(findBody(request.url ?? '', response) ?? Buffer.from('{}'));
    return;
  }
  void json(request).then((asked) => {
    respondLater(
      graphqlBody({ applications, hostsPerApplication }, asked as GraphqlRequest, calls % metricData.length),
    );
  });
});

server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('message', () => process.send?.({ calls, atOnce } satisfies UpstreamUsage));
process.on('disconnect', () => process.exit());
