import { Secrets } from '../log/secrets.ts';
import { resolve } from 'node:path';
import { issue, type Issue, type Path } from './diagnostic.ts';
import { readKey } from './keys.ts';
import { accountsOf, mappingOf } from './schema/rules.ts';

/** Collects the API keys of all accounts of a configuration, valid or not. Key files are relative to `folder`. */
export function collectKeys(configuration: unknown, folder: string): Secrets {
  const keys = new Secrets();
  for (const account of accountsOf(configuration)) {
    const [key, file] = [account?.['api_key'], account?.['api_key_file']];
    if (typeof key === 'string') keys.add(key.trim());
    if (typeof file === 'string' && file !== '') keys.add(readKey({ api_key_file: resolve(folder, file) }) ?? '');
  }
  return keys;
}

const SHOWN =
  'name base_url labels include_accounts exclude_accounts applications key_transactions custom_metrics entities queries'.split(
    ' ',
  );

/** Returns an issue for each published or sent text of an account that holds a configured API key. */
export function checkAccountTexts(configuration: unknown, keys: Secrets): Issue[] {
  return accountsOf(configuration).flatMap((account, index) => {
    const texts = Object.entries(account ?? {}).filter(([name]) => SHOWN.includes(name));
    return checkTexts(Object.fromEntries(texts), ['accounts', index], keys);
  });
}

/** Returns an issue for each text of a value, at any depth, that holds a configured API key. */
export function checkTexts(value: unknown, path: Path, keys: Secrets): Issue[] {
  if (typeof value === 'string') return keys.isIn(value) ? [issue(path, HOLDS_KEY)] : [];
  if (Array.isArray(value)) return value.flatMap((each, index) => checkTexts(each, [...path, index], keys));
  // Report the parent: the path of such a name would show the API key.
  return Object.entries(mappingOf(value) ?? {}).flatMap(([name, inner]) =>
    keys.isIn(name) ? [issue(path, HOLDS_KEY)] : checkTexts(inner, [...path, name], keys),
  );
}

const HOLDS_KEY = 'holds an API key of the configuration, which would be published or sent: remove it';
