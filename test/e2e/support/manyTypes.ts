import { createServer, type IncomingMessage, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';

const MOST_ROWS = 5_000;
const row = z.looseObject({ c: z.number(), facet: z.union([z.string(), z.array(z.string())]) });
type Row = z.infer<typeof row>;
const container = z.looseObject({
  results: z.array(z.looseObject({})),
  otherResult: z.looseObject({}).nullable().optional(),
});
const document = z.looseObject({
  data: z.looseObject({
    actor: z.looseObject({ account: z.looseObject({ nrql: container }) }),
  }),
});

/** A NerdGraph in front of a simulator whose applications use many datastores of each kind, and which cuts long answers. */
export class ManyTypes {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(behind: string, types: number): Promise<ManyTypes> {
    const server = createServer((request, response) => {
      forward(behind, request, types)
        .then(({ status, body }) => {
          response.writeHead(status, { 'Content-Type': 'application/json' });
          response.end(body);
        })
        .catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    return new ManyTypes(server);
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('it does not listen');
    return `http://127.0.0.1:${address.port}`;
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((done) => this.#server.close(() => done()));
  }
}

async function forward(
  behind: string,
  request: IncomingMessage,
  types: number,
): Promise<{ status: number; body: string }> {
  const key = request.headers['api-key'];
  const answer = await fetch(`${behind}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Api-Key': typeof key === 'string' ? key : '' },
    body: await text(request),
  });
  const body = await answer.text();
  const parsed = types === 1 ? undefined : document.safeParse(JSON.parse(body));
  if (parsed?.success !== true) return { status: answer.status, body };
  const { nrql } = parsed.data.data.actor.account;
  const rows = nrql.results.flatMap((each) => multiplied(each, types));
  nrql.results = rows.slice(0, MOST_ROWS);
  const left = rows.slice(MOST_ROWS).reduce((sum, { c }) => sum + (typeof c === 'number' ? c : 0), 0);
  nrql.otherResult = { ...nrql.otherResult, c: left };
  return { status: answer.status, body: JSON.stringify(parsed.data) };
}

/** A row of a datastore type becomes one of each of `types` types; any other stays. */
function multiplied(each: Record<string, unknown>, types: number): Record<string, unknown>[] {
  const parsed = row.safeParse(each);
  if (!parsed.success) return [each];
  const facets: string[] = Array.isArray(parsed.data.facet) ? parsed.data.facet : [parsed.data.facet];
  const name = facets.find((facet) => /^Datastore\/[^/]+\/allWeb$/.test(facet));
  if (name === undefined) return [each];
  return Array.from({ length: types }, (_, index): Row => {
    const another = name.replace(/\/allWeb$/, `${index === 0 ? '' : `-${index}`}/allWeb`);
    const facet = facets.map((one) => (one === name ? another : one));
    const named = 'metricTimesliceName' in parsed.data ? { metricTimesliceName: another } : {};
    return { ...parsed.data, ...named, facet: facet.length === 1 ? another : facet };
  });
}
