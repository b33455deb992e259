import type { IncomingMessage } from 'node:http';
import { tagLabel } from '../../metrics/family.ts';
import type { Group } from '../../reads/reads.ts';
import type { createPageSender } from '../sending.ts';
import { awaitUnlessGone } from '../clientGone.ts';
import type { ApplicationView } from '../../collect/serve/accountStatus.ts';
import { type Handler, HttpError, normalisePrefix, PATHS } from '../dependencies.ts';
import type { WebCollector, WebDependencies, WebSettings } from '../dependencies.ts';
import { formatAddress } from '../server/listening.ts';
import { computeWaitMs } from './scrape.ts';

const LISTS: ReadonlySet<Group> = new Set(['applications']);

/**
 * Handles `/sd`, Prometheus HTTP service discovery: returns a target group per application, to be scraped at `/probe`.
 * `?account=`, repeatable, selects accounts: the unreadable list of another account then hides no targets.
 */
export function discoveryHandler(deps: WebDependencies, sendPage: ReturnType<typeof createPageSender>): Handler {
  const logged = new Set<string>();
  const warnOfConflict = (label: string, first: string, key: string): void => {
    if (logged.has(label)) return;
    logged.add(label);
    const values = `the label ${label}, which has the values of ${first}`;
    deps.warn(`Service discovery: the tags ${first} and ${key} share ${values}.`);
  };
  return async (request, response, client) => {
    const target = readTarget(request);
    const { prefix, isSecure } = resolveRoot(deps.settings, target, request.secure);
    // Without a scheme, Prometheus scrapes the target over plain HTTP.
    const address = [['__metrics_path__', `${prefix}${PATHS.probe}`]];
    if (isSecure) address.push(['__scheme__', 'https']);
    const collection = deps.collection();
    const waitMs = computeWaitMs(request, collection, 0);
    const chosen = new Set(request.query.getAll('account'));
    const collector = deps.collector();
    const { gone } = client;
    await awaitUnlessGone(collector.readLists(waitMs, gone), gone);
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
      await awaitUnlessGone(Promise.all(scopes.map((one) => collector.refresh(one, waitMs, gone))), gone);
    }
    const key = JSON.stringify(['sd', target, address, [...chosen].toSorted()]);
    await sendPage(response, client, 'application/json; charset=utf-8', key, function* () {
      let separator = '[';
      for (const { account, application } of listApplications(collector, chosen)) {
        const labels = [...address, ...labelsOf(account, application), ...createTagLabels(application, warnOfConflict)];
        // The name of a label needs no escaping.
        const written = labels.map(([name, value]) => `"${name}":${JSON.stringify(value)}`);
        yield `${separator}{"targets":[${JSON.stringify(target)}],"labels":{${written.join(',')}}}`;
        separator = ',';
      }
      yield separator === '[' ? '[]' : ']';
    });
  };
}

const UNKNOWN_ACCOUNTS = 'the accounts of an entry with account_ids are not known yet';

/** Returns the applications of the chosen accounts, or of all. Throws a {@link HttpError} without a usable list. */
function listApplications(collector: WebCollector, chosen: ReadonlySet<string>) {
  const lists = collector.applicationLists().filter(({ account }) => chosen.size === 0 || chosen.has(account));
  const absent: string[] = chosen.size === 0 && collector.isIncomplete ? [UNKNOWN_ACCOUNTS] : [];
  const found = lists.flatMap(({ account, isOptional, listed, applications }) => {
    if (isOptional) return [];
    if (applications === undefined) absent.push(`the application list of ${account} cannot be read now`);
    else if (listed === 0) {
      absent.push(`${account} lists no application: check whether the key still sees the whole account`);
    }
    return applications?.map((application) => ({ account, application })) ?? [];
  });
  if (absent.length === 0 && lists.length > 0 && lists.every(({ isOptional }) => isOptional)) {
    absent.push('no account lists an application: check whether the key still sees the accounts');
  }
  // Prometheus drops targets that are missing from a list, but keeps them after an error.
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

/** Returns the labels of tags. If two tags become one label, uses the first by name, and warns. */
function createTagLabels(
  { tags = [] }: ApplicationView,
  warnOfConflict: (label: string, first: string, key: string) => void,
): [string, string][] {
  const keys = new Map<string, string>();
  const labels: [string, string][] = [];
  for (const { key, values } of tags.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
    const label = `__meta_newrelic_${tagLabel(key)}`;
    const first = keys.get(label);
    if (first !== undefined) {
      warnOfConflict(label, first, key);
      continue;
    }
    keys.set(label, key);
    labels.push([label, values.toSorted().join(',')]);
  }
  return labels;
}

/** Returns the address that the client used: the `Host` header, or else the local address of the socket. */
function readTarget({ headers: { host }, socket }: IncomingMessage): string {
  if (host === undefined) {
    const { localAddress = '127.0.0.1', localPort = 80 } = socket;
    return formatAddress(localAddress.replace(/^::ffff:/, ''), localPort);
  }
  if (!isHostHeader(host))
    throw new HttpError(400, 'The Host header is not a host name or an address, with an optional port.');
  return host;
}

const HOST = /^(?:\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252}[A-Za-z0-9_.])?)(?::\d{1,5})?$/;

/** True for `host`, `host:port`, `[IPv6]` and `[IPv6]:port`. */
export function isHostHeader(host: string): boolean {
  return HOST.test(host) && Number(/:(\d{1,5})$/.exec(host)?.[1] ?? 0) <= 65_535;
}

/** Returns the prefix and scheme that clients of `host` use: from the external URL if it has this host. */
function resolveRoot({ externalUrl, routePrefix }: WebSettings, host: string, isTls: boolean) {
  const requested = `${externalUrl?.protocol}//${host}`;
  const isExternal = URL.canParse(requested) && new URL(requested).host === externalUrl?.host;
  return {
    prefix: normalisePrefix(isExternal ? externalUrl.pathname : routePrefix),
    isSecure: isExternal ? externalUrl.protocol === 'https:' : isTls,
  };
}
