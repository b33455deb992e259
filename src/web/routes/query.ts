import { GROUPS, type Group } from '../../metrics/groups.ts';

/** A query parameter that cannot be used: answered with 400 and this message. */
export class BadQueryError extends Error {
  override readonly name = 'BadQueryError';
}

/** What `collect[]` asks for: groups, and the exporter's own metrics. */
export interface Selection {
  readonly groups: ReadonlySet<Group>;
  readonly own: boolean;
}

const OWN = 'exporter';

/** The query of a request target, flat: no nested objects, no surprises. */
export function queryOf(target: string): URLSearchParams {
  const mark = target.indexOf('?');
  return new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1));
}

/** Reads `collect[]`: none means everything. Throws a {@link BadQueryError} on an unknown name. */
export function readSelection(query: URLSearchParams): Selection {
  const names = query.getAll('collect[]');
  if (names.length === 0) return { groups: new Set(GROUPS), own: true };
  const unknown = names.find((name) => name !== OWN && !isGroup(name));
  if (unknown !== undefined) {
    throw new BadQueryError(`Unknown group ${quote(unknown)} in collect[]; known are ${[...GROUPS, OWN].join(', ')}.`);
  }
  return { groups: new Set(names.filter(isGroup)), own: names.includes(OWN) };
}

export interface ProbeQuery {
  readonly account: string;
  readonly applicationId: number;
  readonly debug: boolean;
}

/** Reads the parameters of `/probe`. Throws a {@link BadQueryError} with the reason. */
export function readProbeQuery(query: URLSearchParams): ProbeQuery {
  const account = single(query, 'account', 'the name of an account of the configuration');
  const id = single(query, 'app_id', 'the id of an application');
  if (!/^[1-9]\d{0,15}$/.test(id) || !Number.isSafeInteger(Number(id))) {
    throw new BadQueryError(
      `The parameter app_id must be the id of an application, a whole number above 0; it is ${quote(id)}.`,
    );
  }
  const debug = query.getAll('debug');
  return { account, applicationId: Number(id), debug: debug.includes('true') };
}

function single(query: URLSearchParams, name: string, meaning: string): string {
  const [value = '', ...more] = query.getAll(name);
  if (value === '') throw new BadQueryError(`The parameter ${name} is missing: it must be ${meaning}.`);
  if (more.length > 0) throw new BadQueryError(`The parameter ${name} must be given once.`);
  return value;
}

function isGroup(name: string): name is Group {
  return GROUPS.some((group) => group === name);
}

/** A value from outside, short enough for a sentence and without characters that would break it. */
function quote(value: string): string {
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}...` : value);
}
