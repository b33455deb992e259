import type { IncomingMessage } from 'node:http';
import { tagLabel } from '../../metrics/family.ts';
import type { Group } from '../../reads/reads.ts';
import type { pageSender } from '../sending.ts';
import { unlessGone } from '../clientGone.ts';
import type { ApplicationView } from '../../collect/serve/accountStatus.ts';
import {
  type Handler,
  HttpError,
  normalisePrefix,
  PATHS,
  type WebCollector,
  type WebDependencies,
  type WebSettings,
} from '../dependencies.ts';
import { formatAddress } from '../server/listening.ts';
import { timeToRespond } from './scrape.ts';

const LISTS: ReadonlySet<Group> = new Set(['applications']);

/** Limit for the labels whose conflict between two tags is logged, once for each label. */
const MAX_LOGGED_CONFLICTS = 100;

/**
 * `/sd`: Prometheus HTTP service discovery, a target group per application, to be scraped at `/probe`. `?account=`, repeatable,
 * chooses accounts: a job for each keeps its targets when the list of another account cannot be read.
 */
export function discoveryHandler(deps: WebDependencies, sendPage: ReturnType<typeof pageSender>): Handler {
  const logged = new Set<string>();
  const warnOnce = (label: string, message: string): void => {
    if (logged.has(label) || logged.size >= MAX_LOGGED_CONFLICTS) return;
    logged.add(label);
    deps.warn(message);
  };
  return async (request, response, client) => {
    const target = targetOf(request);
    const { prefix, isSecure } = relativeRoot(deps.settings, target, request.secure);
    // Without a scheme, Prometheus would scrape a target of a TLS server in plain text.
    const address = [['__metrics_path__', `${prefix}${PATHS.probe}`]];
    if (isSecure) address.push(['__scheme__', 'https']);
    const collection = deps.collection();
    const waitMs = timeToRespond(request, collection, 0);
    const chosen = new Set(request.query.getAll('account'));
    const collector = deps.collector();
    const { gone } = client;
    await unlessGone(collector.readLists(waitMs, gone), gone);
    const known = collector.applicationLists().map(({ account }) => account);
    const unknown = [...chosen].find((account) => !known.includes(account));
    if (unknown !== undefined) {
      const name = JSON.stringify(unknown.slice(0, 60));
      if (collector.isIncomplete) throw new HttpError(503, `No targets: ${UNKNOWN_ACCOUNTS}, and ${name} may be one.`);
      throw new HttpError(404, `The configuration has no account ${name}, or the account reads no applications.`);
    }
    if (!collection.background) {
      const scope = { groups: LISTS, listsOnly: true };
      const scopes = chosen.size === 0 ? [scope] : Array.from(chosen, (account) => ({ ...scope, account }));
      await unlessGone(Promise.all(scopes.map((one) => collector.refresh(one, waitMs, gone))), gone);
    }
    const key = JSON.stringify(['sd', target, address, [...chosen].toSorted()]);
    await sendPage(response, client, 'application/json; charset=utf-8', key, function* () {
      let separator = '[';
      for (const { account, application } of applicationsOf(collector, chosen)) {
        const labels = [...address, ...labelsOf(account, application), ...tagLabels(application, warnOnce)];
        // A name has letters, digits and underscores only.
        const written = labels.map(([name, value]) => `"${name}":${JSON.stringify(value)}`);
        yield `${separator}{"targets":[${JSON.stringify(target)}],"labels":{${written.join(',')}}}`;
        separator = ',';
      }
      yield separator === '[' ? '[]' : ']';
    });
  };
}

const UNKNOWN_ACCOUNTS = 'the accounts of an entry with account_ids are not known yet';

/** The applications of the chosen accounts, or of all. Throws a {@link HttpError} where one of them has none to give. */
function applicationsOf(collector: WebCollector, chosen: ReadonlySet<string>) {
  const lists = collector.applicationLists().filter(({ account }) => chosen.size === 0 || chosen.has(account));
  const absent: string[] = chosen.size === 0 && collector.isIncomplete ? [UNKNOWN_ACCOUNTS] : [];
  const found = lists.flatMap(({ account, isOptional, listed, applications }) => {
    if (isOptional) return [];
    if (applications === undefined) absent.push(`the application list of ${account} cannot be read now`);
    else if (listed === 0) {
      absent.push(`${account} lists no application: look whether the key still sees all of the account`);
    }
    return applications?.map((application) => ({ account, application })) ?? [];
  });
  if (absent.length === 0 && lists.length > 0 && lists.every(({ isOptional }) => isOptional)) {
    absent.push('no account lists an application: look whether the key still sees all of them');
  }
  // A list without the targets of one account would make Prometheus drop them; on an error it keeps them.
  if (absent.length > 0) throw new HttpError(503, `No targets: ${absent.join('; ')}.`);
  return found;
}

function labelsOf(account: string, { id, name, language = '', reporting }: ApplicationView): [string, string][] {
  return [
    ['__param_account', account],
    ['__param_app_id', String(id)],
    ['instance', `${account}/${id}`],
    ['__meta_newrelic_account', account],
    ['__meta_newrelic_app', name],
    ['__meta_newrelic_app_id', String(id)],
    ['__meta_newrelic_language', language],
    ['__meta_newrelic_reporting', String(reporting)],
  ];
}

/** Labels of tags. Where the keys of two tags become one label, the first in alphabetical order is used, with a warning. */
function tagLabels({ tags = [] }: ApplicationView, warn: (label: string, message: string) => void): [string, string][] {
  const keys = new Map<string, string>();
  const labels: [string, string][] = [];
  for (const { key, values } of tags.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
    const label = `__meta_newrelic_${tagLabel(key)}`;
    const first = keys.get(label);
    if (first === undefined) {
      keys.set(label, key);
      labels.push([label, values.toSorted().join(',')]);
      continue;
    }
    warn(
      label,
      `Service discovery: the tags ${first} and ${key} are one label, ${label}: it has the values of ${first}.`,
    );
  }
  return labels;
}

/** The address that the client used: the `Host` header, or without one the local address of the socket. */
function targetOf({ headers: { host }, socket }: IncomingMessage): string {
  if (host === undefined) {
    const { localAddress = '127.0.0.1', localPort = 80 } = socket;
    return formatAddress(localAddress.replace(/^::ffff:/, ''), localPort);
  }
  if (!isHostHeader(host))
    throw new HttpError(400, 'The Host header is no host name or address with an optional port.');
  return host;
}

const HOST = /^(?:\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252}[A-Za-z0-9_.])?)(?::\d{1,5})?$/;

/** True for `host`, `host:port`, `[IPv6]` and `[IPv6]:port`. */
export function isHostHeader(host: string): boolean {
  return HOST.test(host) && Number(/:(\d{1,5})$/.exec(host)?.[1] ?? 0) <= 65_535;
}

/** How clients reach this server at `host`: as the external address says if it has this host. */
function relativeRoot({ externalUrl, routePrefix }: WebSettings, host: string, isTls: boolean) {
  const own = `${externalUrl?.protocol}//${host}`;
  const isOwn = URL.canParse(own) && new URL(own).host === externalUrl?.host;
  return {
    prefix: normalisePrefix(isOwn ? externalUrl.pathname : routePrefix),
    isSecure: isOwn ? externalUrl.protocol === 'https:' : isTls,
  };
}
