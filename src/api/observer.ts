import type { FailureReason } from './errors.ts';

/** Why a call for many subjects is read again in parts. */
export const SPLIT_REASONS = ['truncated', 'timeout', 'error'] as const;

export type SplitReason = (typeof SPLIT_REASONS)[number];

/** Observer of an account's calls: the exporter's own metrics and the log. */
export interface CallObserver {
  /** A call goes out. */
  started(endpoint: string): void;
  /** Its answer is there, or not: `code` is the HTTP status, or `error` without one. */
  ended(endpoint: string, code: number | 'error', seconds: number): void;
  /** A call failed, or a part of an answer was left out (`invalid_response`); `message` carries no secret. */
  failed(endpoint: string, reason: FailureReason, message: string): void;
  /** A failed call will be tried again after `delayMs`. */
  retried(endpoint: string, reason: FailureReason, delayMs: number): void;
  /** A call for many subjects is read again in parts. */
  split(reason: SplitReason): void;
  /** The service says something about an answer that is good; `message` carries no secret. Once an hour of each endpoint. */
  noted(endpoint: string, message: string): void;
}
