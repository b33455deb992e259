import type { AccountConfig } from './config.ts';

/** 31 July 2027, when the vendor ends the REST interface; Unix seconds. */
const REST_END = 1_816_992_000;

/** When the vendor ends the interface that an account is read through, Unix seconds; undefined where no end is known. */
export function endOfLife({ api, region }: Pick<AccountConfig, 'api' | 'region'>): number | undefined {
  if (api !== 'rest') return undefined;
  return region === undefined || region === 'us' || region === 'eu' ? REST_END : undefined;
}
