import { Agent, request } from 'undici';

export interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly bytes: Buffer;
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly agent?: Agent;
}

/** One request over a connection of its own, following nothing and decoding nothing. */
export async function get(url: string, { method = 'GET', headers = {}, body, agent }: Ask = {}): Promise<Got> {
  const dispatcher = agent ?? new Agent({ keepAliveTimeout: 1, pipelining: 0 });
  const response = await request(url, { method: method as 'GET', headers, body: body ?? null, dispatcher });
  const bytes = Buffer.from(await response.body.arrayBuffer());
  if (agent === undefined) await dispatcher.close();
  return { status: response.statusCode, headers: response.headers, text: bytes.toString('utf8'), bytes };
}
