import type { RestKind } from '../callKinds.ts';
import type { Format } from '../wire/write.ts';

/** A path of the service, taken apart. */
export interface Route {
  readonly kind: RestKind;
  readonly format: Format;
  readonly applicationId: number | undefined;
  readonly hostId: number | undefined;
  readonly instanceId: number | undefined;
  readonly keyTransactionId: number | undefined;
}

const ID = String.raw`/(\d{1,15})`;
const SCOPE = String.raw`(?:/hosts/(?<host>\d{1,15})|/instances/(?<instance>\d{1,15}))?`;
const APPLICATION = `applications${ID.replace('(', '(?<application>')}`;

const TEMPLATES: readonly (readonly [RestKind, RegExp])[] = (
  [
    ['applications', 'applications'],
    ['application', APPLICATION],
    ['hosts', `${APPLICATION}/hosts`],
    ['host', `${APPLICATION}/hosts${ID.replace('(', '(?<host>')}`],
    ['instances', `${APPLICATION}/instances`],
    ['instance', `${APPLICATION}/instances${ID.replace('(', '(?<instance>')}`],
    ['key_transactions', 'key_transactions'],
    ['key_transaction', `key_transactions${ID.replace('(', '(?<key_transaction>')}`],
    ['metric_names', `${APPLICATION}${SCOPE}/metrics`],
    ['metric_data', `${APPLICATION}${SCOPE}/metrics/data`],
  ] as const
).map(([kind, template]) => [kind, new RegExp(`^/v2/${template}\\.(?<format>json|xml)$`)]);

/** The route of a path without its query; undefined for a path the service does not have. */
export function matchRoute(path: string): Route | undefined {
  for (const [kind, template] of TEMPLATES) {
    const groups = template.exec(path)?.groups;
    if (groups === undefined) continue;
    const id = (name: string) => (groups[name] === undefined ? undefined : Number(groups[name]));
    return {
      kind,
      format: groups['format'] === 'xml' ? 'xml' : 'json',
      applicationId: id('application'),
      hostId: id('host'),
      instanceId: id('instance'),
      keyTransactionId: id('key_transaction'),
    };
  }
  return undefined;
}
