import type { ServerResponse } from 'node:http';
import type { Answer } from './answer.ts';
import { toXml } from './xml.ts';

export type Format = 'json' | 'xml';

/** An answer as it goes over the wire. */
export interface Rendered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  json: 'application/json; charset=utf-8',
  xml: 'application/xml; charset=utf-8',
};

export function render(answer: Answer, format: Format): Rendered {
  const text = format === 'xml' ? toXml(answer.body) : JSON.stringify(answer.body);
  return { status: answer.status, headers: { 'Content-Type': CONTENT_TYPES[format], ...answer.headers }, text };
}

export function send(response: ServerResponse, { status, headers, text }: Rendered): void {
  const body = Buffer.from(text);
  response.writeHead(status, { ...headers, 'Content-Length': body.length }).end(body);
}
