import { describe, expect, it } from 'vitest';
import { resolve, toUrl, type Address } from '../../../src/api/http/exchange.ts';
import { findHttpsUpgrade } from '../../../src/api/http/client.ts';

describe('toUrl', () => {
  it('never takes a path for a host', () => {
    const address = { origin: 'https://a.example', path: '//evil.example/x?y=1' };
    expect(toUrl(address).href).toBe('https://a.example//evil.example/x?y=1');
  });
});

describe('resolve', () => {
  it('gives nothing for an invalid address', () => {
    expect(resolve('https://[', new URL('https://a.example'))).toBeUndefined();
    expect(resolve(undefined, new URL('https://a.example'))).toBeUndefined();
  });
});

const PLAIN = { origin: 'http://127.0.0.1:8080', path: '/v2/applications.json' };

describe('findHttpsUpgrade', () => {
  it.each([
    ['the same port', 'https://127.0.0.1:8080/v2/applications.json', 'https://127.0.0.1:8080'],
    ['another port', 'https://127.0.0.1:8443/v2/applications.json', 'https://127.0.0.1:8443'],
    ['the default port', 'https://127.0.0.1/v2/applications.json', 'https://127.0.0.1'],
    ['HTTPS on its host, although http is written', 'http://127.0.0.1:8080/v2/x.json', 'https://127.0.0.1:8080'],
    ['another path', 'https://127.0.0.1:8080/elsewhere', 'https://127.0.0.1:8080'],
  ])('accepts a 301 to %s', (_, location, origin) => {
    expect(findHttpsUpgrade(PLAIN, 301, location)).toBe(origin);
  });

  it.each<[string, Address, number, string | undefined]>([
    ['another host', PLAIN, 301, 'https://evil.example/v2/applications.json'],
    ['a host that only begins alike', PLAIN, 301, 'https://127.0.0.1.evil.example/'],
    ['another scheme', PLAIN, 301, 'ftp://127.0.0.1/'],
    ['no location', PLAIN, 301, undefined],
    ['no address', PLAIN, 301, 'https://['],
    ['a 302', PLAIN, 302, 'https://127.0.0.1:8080/'],
    ['a 308', PLAIN, 308, 'https://127.0.0.1:8080/'],
    ['a call that was HTTPS already', { origin: 'https://127.0.0.1', path: '/v2' }, 301, 'https://127.0.0.1:8443/'],
  ])('refuses %s', (_, asked, status, location) => {
    expect(findHttpsUpgrade(asked, status, location)).toBeUndefined();
  });
});
