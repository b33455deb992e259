import type { Logger } from 'pino';
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallObserver, UpstreamReader } from '../api/upstreamReader.ts';
import { createNerdGraphReader } from '../api/nerdgraph/nerdGraphReader.ts';
import { RestMemory } from '../api/rest/restMemory.ts';
import { createRestReader, type RestReaderOptions } from '../api/rest/restReader.ts';
import type { AccountReader } from '../collect/accounts/accounts.ts';
import type { AccountLimiter } from '../collect/schedule/limiter.ts';
import { type AccountConfig, switchInterface, type Config } from '../config/config.ts';
import type { Environment } from '../config/yaml/placeholders.ts';
import { readAuthorities } from '../config/certificates.ts';
import { openKey } from '../config/keys.ts';
import type { Secrets } from '../log/secrets.ts';
import { USER_AGENT } from './version.ts';

/** Returns an observer that logs each event of a call, and passes it to `observer`. */
export function observeCalls(
  observer: Omit<CallObserver, 'leftOut' | 'serviceMessage'> | undefined,
  logger: Logger,
): CallObserver {
  return {
    started: (endpoint) => observer?.started(endpoint),
    ended: (endpoint, code, seconds) => {
      observer?.ended(endpoint, code, seconds);
      logger.debug({ endpoint, code, seconds: Number(seconds.toFixed(3)) }, 'Called New Relic');
    },
    failed: (endpoint, reason, message) => {
      observer?.failed(endpoint, reason, message);
      logger.debug({ endpoint, reason, problem: message }, 'A call failed');
    },
    retried: (endpoint, reason, delayMs) => {
      observer?.retried(endpoint, reason, delayMs);
      // Only commands retry after a rate limit. Without this line they would wait for minutes in silence.
      if (reason === 'rate_limited')
        logger.warn({ endpoint, reason }, 'Rate limited by New Relic: waiting before the retry');
      else logger.debug({ endpoint, reason, delay_ms: delayMs }, 'Retrying a call');
    },
    split: (reason) => {
      observer?.split(reason);
      logger.debug({ reason }, 'Reading a batch again in parts');
    },
    leftOut: (endpoint, reason, message) => {
      logger.warn({ endpoint, reason, problem: message }, 'Ignoring a part of a response');
    },
    serviceMessage: (endpoint, message) => {
      logger.info({ endpoint, message }, 'Message from New Relic in a response');
    },
  };
}

interface Surroundings {
  readonly secrets: Secrets;
  readonly environment: Environment;
  readonly observer: (account: string) => CallObserver;
  /** Reports a key file that became unusable. Called once. */
  readonly keyProblem: (account: string, problem: string) => void;
}

/**
 * Opens the reader of an account. `before` is the reader before a reload, whose memory the new reader takes. Throws an
 * Error when it cannot read the key or a certificate file.
 */
export function openReader(
  account: AccountConfig,
  config: Config,
  surroundings: Surroundings,
  limiter: AccountLimiter,
  before?: UpstreamReader,
): AccountReader {
  const options = clientOptions(account, config, surroundings, limiter);
  // The hash tells keys apart without revealing them.
  const keyMark = (): string => createHash('sha256').update(options.key()).digest('hex');
  return { reader: createReader(account, options, before?.memory), keyMark };
}

/** Builds the client options for the calls of an account. Throws as openReader does. */
export function clientOptions(
  account: AccountConfig,
  config: Config,
  options: Surroundings,
  limiter: AccountLimiter,
): RestReaderOptions {
  const key = openKey(account, {
    now: Date.now,
    onKey: (text) => options.secrets.add(text),
    onProblem: (problem) => options.keyProblem(account.name, problem),
  });
  if ('problem' in key) throw new Error(`account ${account.name}: ${key.problem}`);
  const { ca_file, server_name } = account.tls;
  const authorities = ca_file === undefined ? undefined : readAuthorities(ca_file);
  if (authorities !== undefined && 'problem' in authorities)
    throw new Error(`account ${account.name}: the file ${ca_file} ${authorities.problem}`);
  return {
    baseUrl: account.base_url,
    keyHeader: account.api_key_header,
    key: key.current,
    secrets: options.secrets,
    userAgent: USER_AGENT,
    requestTimeoutMs: account.limits.request_timeout,
    maxRetries: account.limits.max_retries,
    maxConcurrent: account.limits.max_concurrent_requests,
    raw: config.collection.raw_values,
    refusedNamesMs: config.collection.intervals.metric_names,
    tls: { ca: authorities?.pem, serverName: server_name },
    observer: options.observer(account.name),
    limiter,
    health: limiter.health,
    environment: options.environment,
    now: Date.now,
    monotonic: () => performance.now(),
    random: Math.random,
    sleep: (ms, signal) => sleep(ms, undefined, { signal }),
  };
}

function createReader(account: AccountConfig, options: RestReaderOptions, before?: object): UpstreamReader {
  const { api, account_id, origin, queries, entities } = account;
  if (api === 'rest') {
    if (queries.length + entities.length === 0) return createRestReader(options, before);
    // Queries and entities always go through NerdGraph.
    const nrqlAccount = switchInterface('nerdgraph', account);
    const { base_url: baseUrl, api_key_header: keyHeader, limits } = nrqlAccount;
    const memory = before instanceof RestMemory ? before.nerdgraph : undefined;
    const nrqlOptions = { ...options, baseUrl, keyHeader, requestTimeoutMs: limits.request_timeout };
    return createRestReader({ ...options, nerdgraph: createReader(nrqlAccount, nrqlOptions, memory) }, before);
  }
  const { requests_per_minute: requestsPerMinute } = account.limits;
  const more = { accountId: account_id, isListed: origin !== undefined, requestsPerMinute };
  return createNerdGraphReader({ ...options, ...more, detailsMs: options.refusedNamesMs }, before);
}
