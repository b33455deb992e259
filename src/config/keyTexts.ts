import { Secrets } from '../log/secrets.ts';
import { resolve } from 'node:path';
import { issue, type Issue, type Path } from './diagnostic.ts';
import { keyOf } from './keys.ts';
import { accountsOf, mappingOf } from './schema/rules.ts';

/** The keys of all accounts as they stand in a configuration, which may be invalid; key files are relative to `folder`. */
export function configuredKeys(configuration: unknown, folder: string): Secrets {
  const keys = new Secrets();
  for (const account of accountsOf(configuration)) {
    const [key, file] = [account?.['api_key'], account?.['api_key_file']];
    if (typeof key === 'string') keys.add(key.trim());
    if (typeof file === 'string' && file !== '') keys.add(keyOf({ api_key_file: resolve(folder, file) }) ?? '');
  }
  return keys;
}

/** The keys of an account whose texts are published or sent. */
const SHOWN =
  'name base_url labels include_accounts exclude_accounts applications key_transactions custom_metrics entities queries'.split(
    ' ',
  );

/** Issues for the accounts' texts that hold a configured key: names, labels, HELP and queries are published, or sent. */
export function accountsWithKeys(configuration: unknown, keys: Secrets): Issue[] {
  return accountsOf(configuration).flatMap((account, index) => {
    const texts = Object.entries(account ?? {}).filter(([name]) => SHOWN.includes(name));
    return textsWithKeys(Object.fromEntries(texts), ['accounts', index], keys);
  });
}

/** Issues for the texts of a value, at any depth, that hold a configured key. */
export function textsWithKeys(value: unknown, path: Path, keys: Secrets): Issue[] {
  if (typeof value === 'string') return keys.isIn(value) ? [issue(path, HOLDS_KEY)] : [];
  if (Array.isArray(value)) return value.flatMap((each, index) => textsWithKeys(each, [...path, index], keys));
  // The path of a key of the file that holds one would show it.
  return Object.entries(mappingOf(value) ?? {}).flatMap(([name, inner]) =>
    keys.isIn(name) ? [issue(path, HOLDS_KEY)] : textsWithKeys(inner, [...path, name], keys),
  );
}

const HOLDS_KEY = 'holds an API key of the configuration, which would be published or sent: remove it';
