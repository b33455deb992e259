import { normaliseBaseUrl, REGION_ADDRESSES } from './addresses.ts';
import type { AccountConfig, Config } from './config.ts';
import type { FileAccount, FileConfig } from './schema.ts';

const DEFAULT_REGION = 'us';

/** The configuration as the program uses it, from a file that is valid by the schema and the rules. */
export function toConfig(file: FileConfig): Config {
  return { accounts: file.accounts.map(toAccount), collection: file.collection };
}

function toAccount(account: FileAccount): AccountConfig {
  const { region = DEFAULT_REGION, applications, tls } = account;
  return {
    ...account,
    name: account.name ?? 'default',
    region,
    base_url: baseUrl(account.base_url ?? REGION_ADDRESSES[region]),
    api_key: account.api_key,
    api_key_file: account.api_key_file,
    labels: { ...account.labels },
    tls: { ca_file: tls.ca_file, server_name: tls.server_name },
    applications: {
      ...applications,
      include: applications.include,
      settings: applications.settings.map((setting) => ({ ...setting, hosts: setting.hosts })),
    },
  };
}

function baseUrl(address: string): string {
  const result = normaliseBaseUrl(address);
  if ('problem' in result) throw new Error(`A base address that the schema let through ${result.problem}.`);
  return result.url;
}
