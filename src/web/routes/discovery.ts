import type { Request } from 'express';
import type { Group } from '../../metrics/sample.ts';
import { sendPage, sendText, type PlacedHandler } from '../sending.ts';
import type { ApplicationView, WebCollector, WebDependencies } from '../dependencies.ts';
import { isHostHeader, timeToAnswerTo, wayBack, BadQueryError, queryOf } from '../request.ts';
import { formatAddress } from '../server/listening.ts';

const LISTS: ReadonlySet<Group> = new Set(['applications']);

/**
 * `/sd`: Prometheus HTTP service discovery, a target group per application, to be scraped at `/probe`. `?account=`, as
 * often as wanted, narrows it, so that one account whose list cannot be read does not hide the others.
 */
export function discoveryHandler(deps: WebDependencies): PlacedHandler {
  return async (request, response, place) => {
    const target = targetOf(request);
    const { prefix, scheme } = wayBack(deps.settings, target, isSecure(request));
    // Over TLS a target group that says nothing would be scraped in plain text.
    const address = { __metrics_path__: `${prefix}/probe`, ...(scheme === 'https' ? { __scheme__: scheme } : {}) };
    const collection = deps.collection();
    const waitMs = timeToAnswerTo(request, collection, 0);
    const wanted = new Set(queryOf(request.originalUrl).getAll('account'));
    const collector = deps.collector();
    const known = collector.applicationLists().map(({ account }) => account);
    const unknown = [...wanted].find((account) => !known.includes(account));
    if (unknown !== undefined) {
      sendText(response, 404, `There is no account ${JSON.stringify(unknown.slice(0, 60))} in the configuration.`);
      return;
    }
    if (!collection.background) await place.waitFor((signal) => readLists(collector, wanted, waitMs, signal));
    const lists = collector.applicationLists().filter(({ account }) => wanted.size === 0 || wanted.has(account));
    const unread = lists.filter(({ applications }) => applications === undefined).map(({ account }) => account);
    if (unread.length > 0) {
      // A list without the targets of one account would make Prometheus drop them; on an error it keeps them.
      sendText(response, 503, `The application list cannot be read now for: ${unread.join(', ')}.`);
      return;
    }
    const groups = lists.flatMap(({ account, applications = [] }) =>
      applications.map((application) => ({
        targets: [target],
        labels: { ...address, ...labelsOf(account, application) },
      })),
    );
    const body = Buffer.from(JSON.stringify(groups));
    await sendPage(response, place, 'application/json; charset=utf-8', body);
  };
}

/** Reads the lists that are due: those of the accounts wanted, or of all. */
async function readLists(
  collector: WebCollector,
  wanted: ReadonlySet<string>,
  waitMs: number,
  signal: AbortSignal,
): Promise<void> {
  const scope = { groups: LISTS, listsOnly: true };
  if (wanted.size === 0) await collector.refresh(scope, waitMs, signal);
  else await Promise.all([...wanted].map((account) => collector.refresh({ ...scope, account }, waitMs, signal)));
}

function labelsOf(account: string, application: ApplicationView): Record<string, string> {
  const id = String(application.id);
  return {
    __param_account: account,
    __param_app_id: id,
    instance: `${account}/${id}`,
    __meta_newrelic_account: account,
    __meta_newrelic_app: application.name,
    __meta_newrelic_app_id: id,
    __meta_newrelic_language: application.language ?? '',
    __meta_newrelic_reporting: String(application.reporting),
  };
}

/** The address the request came to: its `Host`, or that of the socket for a client that sends none. */
function targetOf(request: Request): string {
  const host = request.headers.host;
  if (host === undefined) {
    const { localAddress = '127.0.0.1', localPort = 80 } = request.socket;
    return formatAddress(localAddress.replace(/^::ffff:/, ''), localPort);
  }
  if (!isHostHeader(host)) throw new BadQueryError('The Host header is no host name or address with an optional port.');
  return host;
}

function isSecure({ socket }: Request): boolean {
  return 'encrypted' in socket && socket.encrypted === true;
}
