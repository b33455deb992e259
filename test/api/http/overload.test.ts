import { describe, expect, it } from 'vitest';
import { findOverload } from '../../../src/api/http/response.ts';

const NOW = Date.UTC(2026, 10, 21, 2, 0, 0);
const inSeconds = (seconds: number): number => NOW + seconds * 1000;

describe('findOverload', () => {
  it.each<[string, number, Record<string, string | string[]>, number | undefined]>([
    ['Retry-After in seconds', 429, { 'retry-after': '30' }, 30_000],
    ['Retry-After with a fraction', 429, { 'retry-after': '1.5' }, 1500],
    ['Retry-After as a date', 429, { 'retry-after': 'Sat, 21 Nov 2026 02:01:00 GMT' }, 60_000],
    ['Retry-After as an old date', 429, { 'retry-after': 'Saturday, 21-Nov-26 02:01:00 GMT' }, 60_000],
    ['Retry-After as an asctime date', 429, { 'retry-after': 'Sat Nov 21 02:01:00 2026' }, 60_000],
    ['X-RateLimit-Reset in Unix seconds', 429, { 'x-ratelimit-reset': String(inSeconds(45) / 1000) }, 45_000],
    ['the older header', 429, { 'newrelic-overloadprotection-reset': String(inSeconds(20) / 1000) }, 20_000],
    ['the later of two', 429, { 'retry-after': '10', 'x-ratelimit-reset': String(inSeconds(45) / 1000) }, 45_000],
    ['the first of a repeated header', 429, { 'retry-after': ['10', '20'] }, 10_000],
    ['503 with Retry-After', 503, { 'retry-after': '5' }, 5000],
    ['503 with a meaningless Retry-After', 503, { 'retry-after': 'soon' }, undefined],
    ['429 without a header', 429, {}, undefined],
    ['402, whatever its headers say', 402, { 'retry-after': '30' }, undefined],
    ['a reset that has passed', 429, { 'x-ratelimit-reset': '1454313600' }, undefined],
    ['a negative time', 429, { 'retry-after': '-5' }, undefined],
    ['text', 429, { 'retry-after': 'soon', 'x-ratelimit-reset': 'NaN' }, undefined],
  ])('reads %s', (_, status, headers, waitMs) => {
    expect(findOverload(status, headers, NOW)).toEqual({ waitMs });
  });

  it.each<[number, Record<string, string>]>([
    [200, { 'retry-after': '30' }],
    [500, { 'retry-after': '30' }],
    [503, {}],
    [503, { 'x-ratelimit-reset': String(inSeconds(45) / 1000) }],
    [404, {}],
  ])('finds no overload in status %i with %j', (status, headers) => {
    expect(findOverload(status, headers, NOW)).toBeUndefined();
  });
});
