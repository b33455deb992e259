import { normaliseBaseUrl, regionAddress } from './addresses.ts';
import type { AccountConfig, Api, Config } from './config.ts';
import { INTERFACE_DEFAULTS } from './interfaces.ts';
import type { FileAccount, FileConfig } from './schema.ts';

const DEFAULT_REGION = 'us';

/** The configuration as the program uses it, from a file that is valid by the schema and the rules. */
export function toConfig(file: FileConfig): Config {
  return { accounts: file.accounts.map(toAccount), collection: file.collection };
}

function toAccount(account: FileAccount): AccountConfig {
  const { api, base_url, applications, tls, limits } = account;
  const region = account.region ?? (base_url === undefined ? DEFAULT_REGION : undefined);
  const defaults = INTERFACE_DEFAULTS[api];
  return {
    ...account,
    name: account.name ?? 'default',
    region,
    account_id: account.account_id,
    base_url: base_url === undefined ? regionAddress(api, region ?? DEFAULT_REGION) : baseUrl(base_url, api),
    api_key: account.api_key,
    api_key_file: account.api_key_file,
    api_key_header: account.api_key_header ?? defaults.api_key_header,
    limits: {
      ...limits,
      max_concurrent_requests: limits.max_concurrent_requests ?? defaults.max_concurrent_requests,
      request_timeout: limits.request_timeout ?? defaults.request_timeout,
    },
    labels: { ...account.labels },
    tls: { ca_file: tls.ca_file, server_name: tls.server_name },
    applications: {
      ...applications,
      include: applications.include,
      settings: applications.settings.map((setting) => ({ ...setting, hosts: setting.hosts })),
    },
  };
}

function baseUrl(address: string, api: Api): string {
  const result = normaliseBaseUrl(address, api);
  if ('problem' in result) throw new Error(`A base address that the rules let through ${result.problem}.`);
  return result.url;
}
