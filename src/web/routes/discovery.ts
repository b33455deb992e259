import type { Request } from 'express';
import type { AccountStatus, ApplicationView } from '../../collect/view.ts';
import type { Group } from '../../metrics/groups.ts';
import { timeToAnswer } from '../deadline.ts';
import type { WebDependencies } from '../dependencies.ts';
import { formatAddress } from '../listenAddress.ts';
import { isHostHeader, wayBack } from '../links.ts';
import { BadQueryError } from '../query.ts';
import { sendBody, sendText } from '../respond.ts';
import type { Handler } from '../routes.ts';

const LISTS: ReadonlySet<Group> = new Set(['applications']);

/** `/sd` (contract 3): Prometheus HTTP service discovery, a target group per application, to be scraped at `/probe`. */
export function discoveryHandler(deps: WebDependencies): Handler {
  return async (request, response) => {
    const target = targetOf(request);
    const { prefix, scheme } = wayBack(deps.settings, target, isSecure(request));
    // Over TLS a target group that says nothing would be scraped in plain text.
    const address = { __metrics_path__: `${prefix}/probe`, ...(scheme === 'https' ? { __scheme__: scheme } : {}) };
    const { background, default_scrape_timeout, scrape_timeout_offset } = deps.collection();
    const budget = timeToAnswer({
      header: request.get('x-prometheus-scrape-timeout-seconds'),
      defaultTimeout: default_scrape_timeout,
      offset: scrape_timeout_offset,
      lastWrite: 0,
    });
    const collector = deps.collector();
    if (!background) await collector.refresh({ groups: LISTS }, deps.now() + budget);
    const accounts = collector.status();
    const unread = accounts.filter((account) => !isListServed(account)).map(({ name }) => name);
    if (unread.length > 0) {
      // A list without the targets of one account would make Prometheus drop them; on an error it keeps them.
      sendText(response, 503, `The application list cannot be read now for: ${unread.join(', ')}.`);
      return;
    }
    const groups = accounts.flatMap(({ name, applications = [] }) =>
      applications.map((application) => ({
        targets: [target],
        labels: { ...address, ...labelsOf(name, application) },
      })),
    );
    sendBody(response, 200, 'application/json; charset=utf-8', JSON.stringify(groups));
  };
}

/** Held and not past its age: what an answer to a scrape would use. */
function isListServed(account: AccountStatus): boolean {
  const list = account.entities.find(({ group }) => group === 'applications');
  return account.applications !== undefined && list?.state !== 'missing';
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
