import type * as z from 'zod';
import type { QueryDefinition } from '../metrics/queryFamilies.ts';
import type { TimedGroup } from '../metrics/sample.ts';
import type { customMetric } from './schema/customMetric.ts';
import type { PACKS } from './schema/query.ts';

/**
 * The configuration after validation, with every default filled in. Keys are those of the file (docs/configuration.md).
 * Durations are milliseconds.
 */
export interface Config {
  readonly accounts: readonly AccountConfig[];
  readonly collection: CollectionConfig;
}

/**
 * A name glob (`*` any run of characters, `?` one, case counts), an id, or a tag of an application. A tag is a key, whose
 * case does not count, with a glob for any of its values or without one for the key alone; with a name, both must match.
 */
export type EntityMatch =
  | { readonly name: string }
  | { readonly id: number }
  | { readonly tag: string; readonly value: string | undefined; readonly name: string | undefined };

/** What a match looks at; no tags where the interface does not tell them. */
export interface Matchable {
  readonly id: number;
  readonly name: string;
  readonly tags?: readonly { readonly key: string; readonly values: readonly string[] }[];
}

export type DatabaseComponent = 'auto' | 'datastore' | 'database' | 'active_record';

export interface ApplicationSetting {
  readonly match: EntityMatch;
  readonly database_component: DatabaseComponent;
  /** Undefined: as the account says. */
  readonly hosts?: boolean | undefined;
}

export type CustomMetricConfig = Readonly<z.output<typeof customMetric>>;

/** The interface that an account is read through: the REST API v2, or NerdGraph. */
export type Api = 'rest' | 'nerdgraph';

export type Region = 'us' | 'eu' | 'gov' | 'jp';

export interface AccountConfig {
  readonly name: string;
  /** Undefined where `base_url` is set. */
  readonly region: Region | undefined;
  readonly api: Api;
  /** The number of the account at the service; undefined: the one account that the key can see. */
  readonly account_id?: number | undefined;
  /** Where the interface is, from `base_url` or the region: ends in `/v2` for REST, in `/graphql` for NerdGraph. */
  readonly base_url: string;
  /** Exactly one of the two is set. */
  readonly api_key?: string | undefined;
  readonly api_key_file?: string | undefined;
  readonly api_key_header: 'X-Api-Key' | 'Api-Key';
  readonly labels: Readonly<Record<string, string>>;
  readonly tls: { readonly ca_file?: string | undefined; readonly server_name?: string | undefined };
  readonly applications: {
    /** False: no application is read, nor what belongs to one. */
    readonly read: boolean;
    /** Keys of the tags that are published, as labels are named after them. */
    readonly tags: readonly string[];
    /** Undefined: every application. */
    readonly include?: readonly EntityMatch[] | undefined;
    readonly exclude: readonly EntityMatch[];
    readonly reporting_only: boolean;
    readonly settings: readonly ApplicationSetting[];
  };
  readonly hosts: boolean;
  readonly instances: boolean;
  readonly key_transactions:
    boolean | { readonly include?: readonly EntityMatch[] | undefined; readonly exclude: readonly EntityMatch[] };
  readonly custom_metrics: readonly CustomMetricConfig[];
  /** Those of the account first, then those of its files, then those of its packs. */
  readonly queries: readonly QueryDefinition[];
  /** Both are empty once their queries have been read. */
  readonly query_files: readonly string[];
  readonly query_packs: readonly (typeof PACKS)[number][];
  readonly limits: {
    readonly max_concurrent_requests: number;
    readonly requests_per_minute: number;
    readonly request_timeout: number;
    readonly max_retries: number;
  };
}

export interface CollectionConfig {
  readonly window: number;
  readonly delay: number;
  readonly scrape_timeout_offset: number;
  readonly default_scrape_timeout: number;
  readonly max_age: number;
  readonly raw_values: boolean;
  readonly background: boolean;
  readonly intervals: Readonly<Record<TimedGroup, number>>;
  readonly max_series: number;
}

/**
 * True when the pattern covers the whole text: `*` is any run of characters (also none), `?` is one, the rest is
 * literal and case counts. The work is at most pattern length times text length, for every pattern.
 */
export function globMatches(pattern: string, text: string): boolean {
  const wanted = Array.from(pattern);
  const given = Array.from(text);
  let p = 0;
  let t = 0;
  let lastStar = -1;
  let resumeAt = 0;
  while (t < given.length) {
    if (wanted[p] === '*') {
      lastStar = p;
      resumeAt = t;
      p += 1;
    } else if (p < wanted.length && (wanted[p] === '?' || wanted[p] === given[t])) {
      p += 1;
      t += 1;
    } else if (lastStar >= 0) {
      // Only the last star needs to take one more character: the stars before it took as few as possible.
      resumeAt += 1;
      p = lastStar + 1;
      t = resumeAt;
    } else {
      return false;
    }
  }
  while (wanted[p] === '*') p += 1;
  return p === wanted.length;
}

/** True when an application or key transaction is the one, or one of those, that the configuration names. */
export function matches(match: EntityMatch, entity: Matchable): boolean {
  if ('id' in match) return match.id === entity.id;
  if (match.name !== undefined && !globMatches(match.name, entity.name)) return false;
  if (!('tag' in match)) return true;
  const { tag, value } = match;
  const found = tagValues(entity.tags, tag);
  return found !== undefined && (value === undefined || found.some((each) => globMatches(value, each)));
}

/** The values of a tag, whose key is compared without case; undefined where there is no such key. */
export function tagValues(tags: Matchable['tags'], key: string): readonly string[] | undefined {
  const found = (tags ?? []).filter((tag) => tag.key.toLowerCase() === key.toLowerCase());
  return found.length === 0 ? undefined : found.flatMap(({ values }) => values);
}

/** 31 July 2027, when the vendor ends the REST interface; Unix seconds. */
const REST_END = 1_816_992_000;

/** When the vendor ends the interface that an account is read through, Unix seconds; undefined where no end is known. */
export function endOfLife({ api, region }: Pick<AccountConfig, 'api' | 'region'>): number | undefined {
  if (api !== 'rest') return undefined;
  return region === undefined || region === 'us' || region === 'eu' ? REST_END : undefined;
}
