import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import type { Simulator, SimulatorOptions } from '../../simulator/simulator.ts';
import { DEMO_API_KEY } from '../../simulator/simulatorSettings.ts';
import { simulatorForFile, simulatorForTest } from '../support/simulator.ts';

/** Where the clock of a simulator stands unless a test moves it. */
export const NOW = Date.UTC(2026, 4, 20, 14, 7, 31);
export const MINUTE = 60_000;

/** A simulator for all tests of a file. */
export const simulatorOfFile = (options: SimulatorOptions = {}): Promise<Simulator> =>
  simulatorForFile({ now: () => NOW, ...options });

/** A simulator for one test. */
export const simulatorOfTest = (options: SimulatorOptions = {}): Promise<Simulator> =>
  simulatorForTest({ now: () => NOW, ...options });

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface CallOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Certificate to trust. */
  readonly ca?: string;
  readonly signal?: AbortSignal | undefined;
}

/** The headers of a well-behaved client. */
export const GOOD = { 'X-Api-Key': DEMO_API_KEY, Accept: 'application/json' };

/** One call over a socket of its own, exactly as given: no header is added. Rejects when the response is cut. */
export async function call(url: string, options: CallOptions = {}): Promise<Reply> {
  const { method = 'GET', headers = GOOD, body, ca, signal } = options;
  const send = url.startsWith('https:') ? httpsRequest : httpRequest;
  const request = send(url, { method, headers, agent: false, ca, signal }).end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  // What ends the request from now on ends the reading of the response.
  request.on('error', () => undefined);
  return { status: response.statusCode ?? 0, headers: response.headers, text: await text(response) };
}

/** A sound call of a path, and its parsed body. */
export async function read(simulator: Simulator, path: string): Promise<Record<string, unknown>> {
  const reply = await call(`${simulator.url}${path}`);
  return JSON.parse(reply.text) as Record<string, unknown>;
}

/** A list out of a body, as records. */
export function records(body: Record<string, unknown>, envelope: string): Record<string, unknown>[] {
  return body[envelope] as Record<string, unknown>[];
}

/** The address of `rel` in a Link header. */
export function linked(reply: Reply, rel: string): string | undefined {
  const links = reply.headers['link'];
  return new RegExp(`<([^>]*)>;rel="${rel}"`).exec([links ?? []].flat().join(', '))?.[1];
}

export interface Metric {
  readonly name: string;
  readonly timeslices: readonly {
    readonly from: string;
    readonly to: string;
    readonly values: Record<string, number>;
  }[];
}

export interface MetricData {
  readonly from: string;
  readonly to: string;
  readonly metrics_found: readonly string[];
  readonly metrics_not_found: readonly string[];
  readonly metrics: readonly Metric[];
}

/** The metric data of a scope path such as `/applications/1000001`: of these names, with further parameters. */
export async function metricData(
  simulator: Simulator,
  scope: string,
  names: readonly string[],
  parameters: Readonly<Record<string, string>> = {},
): Promise<MetricData> {
  const query = new URLSearchParams(parameters);
  for (const name of names) query.append('names[]', name);
  const body = await read(simulator, `/v2${scope}/metrics/data.json?${query.toString()}`);
  return body['metric_data'] as MetricData;
}
