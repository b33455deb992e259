import * as z from 'zod';
import { anyCase, list, notes, text, textWithout, whole, duration } from './parts.ts';
import { RESERVED_LABEL_NAMES } from '../../metrics/catalogue.ts';
import { LABEL_NAME } from '../../metrics/family.ts';
import { APIS } from '../../api/upstreamReader.ts';
import { normaliseBaseUrl, regionAddress, REGIONS, INTERFACE_DEFAULTS } from '../interfaces.ts';
import { formatDuration } from '../duration.ts';
import { findKeyProblem } from '../keys.ts';
import { customMetric } from './customMetric.ts';
import { applicationMatch, choice, entityMatch, entitySelection } from './entities.ts';
import { PACKS, query } from './query.ts';

const setting = z.strictObject({
  match: notes(applicationMatch, { description: 'The applications it is for.', example: { name: 'Store*' } }),
  database_component: notes(z.enum(['auto', 'datastore', 'database', 'active_record']).default('auto'), {
    description: 'Which kind of database metric counts; `auto` finds out from the metrics that the application has.',
    example: 'database',
  }),
  hosts: notes(z.boolean().optional(), {
    description: 'Host series, and the calls for them.',
    otherwise: 'as `hosts` of the account',
    example: false,
  }),
});

const chosenApplications = z.strictObject({
  ...choice(applicationMatch, 'applications', 'every application', [
    [{ name: 'Checkout *' }, { id: 1_000_001 }],
    [{ name: 'Retired *' }],
  ]),
  reporting_only: notes(z.boolean().default(true), {
    description: 'Applications that do not report get state metrics, but no calls for metric data.',
  }),
  settings: notes(list(setting).prefault([]), { description: 'Per application; the first match wins.' }),
  tags: notes(list(text()).prefault([]), {
    description:
      'Tags that are published as labels of `newrelic_application_tags`, by their keys, whose case does not count. Not with `api: rest`.',
    example: ['team', 'environment'],
  }),
});

const APPLICATION_DEFAULTS = chosenApplications.parse({});

const applications = z.union([
  z.boolean().refine((value) => !value, 'must be false or a mapping: without this key every application is read'),
  chosenApplications,
]);

const keyTransactions = z.strictObject(
  choice(entityMatch, 'key transactions', 'every key transaction', [[{ name: 'Checkout *' }], [{ id: 5_000_006 }]]),
);

const labelName = textWithout((name) => {
  if (!LABEL_NAME.test(name)) return 'is not a label name: use letters, digits and _, no digit first';
  if (name.startsWith('__')) return 'names that begin with __ belong to Prometheus: choose another name';
  if (!RESERVED_LABEL_NAMES.has(name)) return undefined;
  return 'is a label of the exporter or of Prometheus itself: choose another name';
}, z.string());

const tls = z.strictObject({
  ca_file: notes(text().optional(), {
    description: "PEM file with the certificate authorities to trust instead of the system's.",
    placeholder: '<path>',
    example: '/etc/ssl/corp.pem',
  }),
  server_name: notes(
    z
      .string()
      .regex(/^(?=.*[a-zA-Z])[a-zA-Z0-9_-]+(?:\.[a-zA-Z0-9_-]+)*$/, 'is not a host name')
      .optional(),
    {
      description: 'Name that the certificate must have, when it is not the one in the address.',
      placeholder: '<hostname>',
      example: 'api.example',
    },
  ),
});

const { rest, nerdgraph } = INTERFACE_DEFAULTS;

const limits = z.strictObject({
  max_concurrent_requests: notes(whole(1, 1_000).optional(), {
    description: 'Maximum number of calls in flight.',
    otherwise: `\`${nerdgraph.max_concurrent_requests}\`; \`${rest.max_concurrent_requests}\` with \`api: rest\``,
    example: nerdgraph.max_concurrent_requests,
  }),
  requests_per_minute: notes(whole(1, 1_000_000).default(600), {
    description:
      'Calls per minute that this process may make. New Relic refuses more than 1,000 (NerdGraph: 3,000) per account ' +
      'and minute, all users of the account together.',
  }),
  request_timeout: notes(duration({ min: '1ms' }).optional(), {
    description: 'Timeout of one call.',
    otherwise: `\`${formatDuration(nerdgraph.request_timeout)}\`; \`${formatDuration(rest.request_timeout)}\` with \`api: rest\``,
    example: formatDuration(nerdgraph.request_timeout),
  }),
  max_retries: notes(whole(0, 10).default(2), {
    description: 'How often a call is retried after a server or network error, within the same limits.',
  }),
});

const accountIds = z.union([list(whole(1), 1), z.literal('all', 'must be all, or a list of account numbers')]);

const MAX_ACCOUNTS = 100;

const writtenAccount = z.strictObject({
  name: notes(text().optional(), {
    description: 'Label `account` of every series; unique. With `account_ids` the name of the entry.',
    otherwise:
      '`default` when there is one account, otherwise required; with `account_ids` the position, as in `entry-1`',
    example: 'production',
  }),
  region: notes(anyCase(REGIONS).optional(), {
    description: "New Relic's region of the account.",
    otherwise: '`us`, when there is no `base_url`',
    example: 'us',
  }),
  api: notes(anyCase(APIS).prefault('nerdgraph'), {
    description:
      'The interface that the account is read through: NerdGraph, or the REST API v2, which New Relic ends on 31 July 2027.',
  }),
  account_id: notes(whole(1).optional(), {
    description: 'The number of the account. With `api: rest` only queries, entities and the command `compare` use it.',
    otherwise: 'the only account that the key sees',
    example: 1234567,
  }),
  account_ids: notes(accountIds.optional(), {
    description:
      'Instead of `account_id`: this entry stands for every account that the key sees (`all`), or for the listed accounts. ' +
      'The other keys of the entry apply to each of them (docs/organisations.md). Not with `api: rest`.',
    placeholder: 'all or [<int>]',
    example: 'all',
  }),
  include_accounts: notes(list(entityMatch, 1).optional(), {
    description: 'With `account_ids`: only these accounts, by name or number.',
    otherwise: 'every account',
    example: [{ name: 'Production *' }, { id: 1234567 }],
  }),
  exclude_accounts: notes(list(entityMatch).optional(), {
    description: 'With `account_ids`: not these accounts, even when they are included.',
    otherwise: 'none',
    example: [{ name: '*sandbox*' }],
  }),
  max_accounts: notes(whole(1).optional(), {
    description:
      'With `account_ids`: maximum number of accounts. Beyond it the exporter reads the lowest account numbers.',
    otherwise: `\`${MAX_ACCOUNTS}\``,
    example: MAX_ACCOUNTS,
  }),
  base_url: notes(z.string().optional(), {
    description:
      'Address of the interface instead of a region. NerdGraph: the whole address, ending in `/graphql`. REST: with or ' +
      'without the trailing `/v2`. `https` only; `http` only for loopback addresses.',
    placeholder: '<url>',
    example: 'https://api.newrelic.com/graphql',
  }),
  api_key: notes(textWithout(findKeyProblem, z.string().trim()).optional(), {
    description: 'The key. Either this or `api_key_file`.',
    placeholder: '<secret>',
    example: '${NEW_RELIC_API_KEY}',
  }),
  api_key_file: notes(text().optional(), {
    description: 'File that holds the key; read again when it changes. Either this or `api_key`.',
    placeholder: '<path>',
    example: '/run/secrets/new_relic_api_key',
  }),
  api_key_header: notes(z.enum(['X-Api-Key', 'Api-Key']).optional(), {
    description: 'Request header that carries the key, a user key (`NRAK-...`).',
    otherwise: '`Api-Key`; `X-Api-Key` with `api: rest`',
    example: 'Api-Key',
  }),
  labels: notes(z.record(labelName, z.string()).default({}), {
    description:
      'Static labels put on every series of the account; one of the label names of the exporter is an error.',
    placeholder: '{ <label_name>: <string> }',
    example: { team: 'payments' },
  }),
  tls: notes(tls.prefault({}), { description: 'Certificate verification, which cannot be switched off.' }),
  applications: notes(applications.prefault({}), {
    description:
      'Which applications to read, with settings for some of them. `false`: the exporter reads no application, and none of ' +
      'their hosts and key transactions.',
  }),
  hosts: notes(z.boolean().default(true), { description: 'Series of each host of each application.' }),
  counters: notes(z.boolean().default(false), {
    description:
      'Counters of each application for `rate()`, `increase()` and service levels (docs/service-levels.md): every minute counts once.',
  }),
  instances: notes(z.boolean().default(false), {
    description: 'Rolling summaries of each instance. Only with `api: rest`.',
  }),
  key_transactions: notes(z.union([z.boolean(), keyTransactions]).prefault(true), {
    description:
      'Key transactions. `true`: all; where applications are filtered, those of the included ones. Or choose them by ' +
      'name or id.',
  }),
  custom_metrics: notes(list(customMetric).prefault([]), {
    description: 'Families of your own from metrics that the agents report.',
  }),
  entities: notes(list(entitySelection).prefault([]), {
    description:
      'Golden metrics of entities of other types than APM applications (docs/entities.md). They are read through NerdGraph ' +
      'also with `api: rest`; then they need `account_id`.',
  }),
  queries: notes(list(query).prefault([]), {
    description:
      'Results of queries in the language NRQL as families. They are read through NerdGraph also with `api: rest`; then ' +
      'they need `account_id`.',
  }),
  query_files: notes(list(text()).prefault([]), {
    description:
      'Files with further queries under the key `queries`, relative to the folder of the configuration. `*` stands for ' +
      'any run of characters of the name of a file. `${NAME}` is not replaced in them.',
    placeholder: '[<path>]',
    example: ['queries/*.yaml'],
  }),
  query_packs: notes(list(z.enum(PACKS)).prefault([]), {
    description: 'Queries that are shipped with the exporter (docs/queries.md).',
    example: ['alert_events'],
  }),
  limits: notes(limits.prefault({}), { description: 'Rate, concurrency, timeout and retry limits for API calls.' }),
});

function fillDefaults(written: z.output<typeof writtenAccount>) {
  const { api, base_url, applications, limits } = written;
  const region = written.region ?? 'us';
  const defaults = INTERFACE_DEFAULTS[api];
  const address = base_url ?? regionAddress(api, region);
  const checked = normaliseBaseUrl(address, api);
  return {
    ...written,
    name: written.name ?? 'default',
    ...(written.account_ids === undefined ? {} : { max_accounts: written.max_accounts ?? MAX_ACCOUNTS }),
    region: base_url === undefined ? region : undefined,
    /** Complete address, ending in `/v2` (REST) or `/graphql` (NerdGraph). The rules report an invalid one. */
    base_url: 'url' in checked ? checked.url : address,
    api_key_header: written.api_key_header ?? defaults.api_key_header,
    applications: {
      ...(typeof applications === 'boolean' ? APPLICATION_DEFAULTS : applications),
      /** False: the exporter reads no applications, hosts or instances. */
      read: typeof applications !== 'boolean',
    },
    limits: {
      ...limits,
      max_concurrent_requests: limits.max_concurrent_requests ?? defaults.max_concurrent_requests,
      request_timeout: limits.request_timeout ?? defaults.request_timeout,
    },
  };
}

export const account = z.codec(writtenAccount, z.custom<ReturnType<typeof fillDefaults>>(), {
  decode: fillDefaults,
  encode: ({ base_url, applications: { read, ...chosen }, ...rest }) => ({
    ...rest,
    base_url: rest.region === undefined ? base_url : undefined,
    applications: read ? chosen : false,
  }),
});
