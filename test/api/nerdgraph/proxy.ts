import { createServer, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { request } from 'undici';
import { onTestFinished } from 'vitest';
import type { NerdGraphReaderOptions } from '../../../src/api/nerdgraph/transport.ts';
import { DEMO_API_KEY } from '../../../simulator/simulatorSettings.ts';
import type { Simulator, SimulatorOptions } from '../../../simulator/simulator.ts';
import { simulatorForTest } from '../../support/simulator.ts';
import { json, listen } from '../support/testServer.ts';
import type { Reading } from '../support/reading.ts';
import { NOW, readNerdGraph } from './nerdGraphReading.ts';

/** A call as it came over the wire. */
export interface Asked {
  readonly text: string;
  /** The NRQL query; empty where the document has none. */
  readonly nrql: string;
}

/** Answers a call; `good` is the answer of the service. False lets the answer of the service through. */
export type Fault = (response: ServerResponse, asked: Asked, good: string) => boolean | undefined;

/** The part of a query's response that tests change. */
export interface NrqlResponse {
  results: Record<string, unknown>[];
  otherResult: unknown;
  metadata: { messages: unknown; timeWindow: { begin: number; end: number } };
}

/** Changes the responses to the queries for which `isStruck` is true. */
export const edit =
  (change: (answer: NrqlResponse, nrql: string) => void, isStruck = (nrql: string) => nrql !== ''): Fault =>
  (response, { nrql }, good) => {
    if (!isStruck(nrql)) return false;
    const body = JSON.parse(good) as { data: { actor: { account: { nrql: NrqlResponse | null } } } | null };
    const answer = body.data?.actor.account.nrql;
    // An application without data has no answer to change.
    if (answer === undefined || answer === null) return false;
    change(answer, nrql);
    response.end(JSON.stringify(body));
    return true;
  };

/** Answers with an error in a body of status 200. */
export const say =
  (message: string, errorClass?: string): Fault =>
  (response) => {
    const extensions = errorClass === undefined ? {} : { extensions: { errorClass } };
    response.end(JSON.stringify({ data: null, errors: [{ message, ...extensions }] }));
    return true;
  };

/** Strikes the queries that `isStruck` names. */
export const where =
  (isStruck: (nrql: string) => boolean, fault: Fault): Fault =>
  (response, asked, good) =>
    asked.nrql !== '' && isStruck(asked.nrql) && fault(response, asked, good);

export interface Between extends Reading {
  readonly simulator: Simulator;
  readonly asked: Asked[];
  /** Opens a reader that replaces this one, like a reload. */
  readonly replace: () => Reading;
  fault: Fault | undefined;
}

/**
 * The project's own service behind a server that can answer in its place, and a reader of it. With `listsStand`, its lists are worked
 * out once for all services of a world, too: the test changes nothing in it.
 */
export async function startBetween(
  world: SimulatorOptions,
  options: Partial<NerdGraphReaderOptions> = {},
  listsStand = false,
): Promise<Between> {
  const simulator = await simulatorForTest({ now: () => NOW, ...world });
  const asked: Asked[] = [];
  const server = createServer((incoming, response) => {
    void text(incoming).then(async (body) => {
      const { variables } = JSON.parse(body) as { variables: { nrql?: string } };
      const each = { text: body, nrql: variables.nrql ?? '' };
      asked.push(each);
      const stands = listsStand || each.nrql !== '';
      const good = await (stands ? answerOnce(world, body, simulator) : forward(simulator, body));
      if (between.fault?.(response, each, good) !== true) json(response, good);
    });
  });
  const { port, close } = await listen(server);
  onTestFinished(close);
  const start = (before?: object): Reading =>
    readNerdGraph(`http://127.0.0.1:${port}/graphql`, { key: () => DEMO_API_KEY, ...options }, before);
  const reading = start();
  const replace = (): Reading => start(reading.reader.memory);
  const between: Between = { ...reading, simulator, asked, replace, fault: undefined };
  return between;
}

/** Answers of services, by what was asked. */
export type Answers = Map<string, Promise<string>>;

/**
 * A server before a simulator that can answer in its place. Returns its address, without a path. With `answers`, each call is worked
 * out once for all servers that share them, for a simulator whose time stands still.
 */
export async function startProxy(target: Pick<Simulator, 'url'>, fault: Fault, answers?: Answers): Promise<string> {
  const server = createServer((incoming, response) => {
    void text(incoming).then(async (body) => {
      const { variables } = JSON.parse(body) as { variables: { nrql?: string } };
      const good = await (answers === undefined ? forward(target, body) : knownAnswer(answers, target, body));
      if (fault(response, { text: body, nrql: variables.nrql ?? '' }, good) !== true) json(response, good);
    });
  });
  const { port, close } = await listen(server);
  onTestFinished(close);
  return `http://127.0.0.1:${port}`;
}

/** Answers by world and query. The time of a world stands still, so a query always has the same answer. */
const answered = new WeakMap<SimulatorOptions, Answers>();

function answerOnce(world: SimulatorOptions, body: string, simulator: Simulator): Promise<string> {
  const known = answered.get(world) ?? new Map<string, Promise<string>>();
  answered.set(world, known);
  return knownAnswer(known, simulator, body);
}

function knownAnswer(answers: Answers, target: Pick<Simulator, 'url'>, body: string): Promise<string> {
  const answer = answers.get(body) ?? forward(target, body);
  answers.set(body, answer);
  return answer;
}

async function forward({ url }: Pick<Simulator, 'url'>, body: string): Promise<string> {
  const plain = { 'content-type': 'application/json', 'accept-encoding': 'identity' };
  const headers = { ...plain, 'api-key': DEMO_API_KEY };
  const answer = await request(`${url}/graphql`, { method: 'POST', headers, body });
  return await answer.body.text();
}
