import { describe, expect, it } from 'vitest';
import { withOrigin, resolve, joinPath, httpsUpgrade } from '../../../src/api/http/address.ts';

describe('under', () => {
  it.each([
    ['https://api.example/v2', '/x.json?a=1', 'https://api.example/v2/x.json?a=1'],
    ['https://api.example/v2/', '/x.json', 'https://api.example/v2/x.json'],
    ['https://api.example/far/v2', '/x.json?a=%3F', 'https://api.example/far/v2/x.json?a=%3F'],
    ['https://api.example//v2', '/x.json', 'https://api.example//v2/x.json'],
  ])('puts under %s the path %s', (base, path, expected) => {
    expect(joinPath(new URL(base), path).href).toBe(expected);
  });
});

describe('moved', () => {
  it('never takes a path for a host', () => {
    expect(withOrigin(new URL('http://a.example//evil.example/x?y=1'), 'https://a.example').href).toBe(
      'https://a.example//evil.example/x?y=1',
    );
  });
});

describe('resolve', () => {
  it('gives nothing for what is no address', () => {
    expect(resolve('https://[', new URL('https://a.example'))).toBeUndefined();
    expect(resolve(undefined, new URL('https://a.example'))).toBeUndefined();
  });
});

const PLAIN = new URL('http://127.0.0.1:8080/v2/applications.json');

describe('httpsUpgrade', () => {
  it.each([
    ['the same port', 'https://127.0.0.1:8080/v2/applications.json', 'https://127.0.0.1:8080'],
    ['another port', 'https://127.0.0.1:8443/v2/applications.json', 'https://127.0.0.1:8443'],
    ['the default port', 'https://127.0.0.1/v2/applications.json', 'https://127.0.0.1'],
    [
      'HTTPS on the same host, although http is written',
      'http://127.0.0.1:8080/v2/applications.json',
      'https://127.0.0.1:8080',
    ],
    ['another path', 'https://127.0.0.1:8080/elsewhere', 'https://127.0.0.1:8080'],
  ])('takes a 301 to %s', (_, location, origin) => {
    expect(httpsUpgrade(PLAIN, 301, location)).toBe(origin);
  });

  it.each<[string, URL, number, string | undefined]>([
    ['another host', PLAIN, 301, 'https://evil.example/v2/applications.json'],
    ['a host that only begins alike', PLAIN, 301, 'https://127.0.0.1.evil.example/'],
    ['another scheme', PLAIN, 301, 'ftp://127.0.0.1/'],
    ['nowhere', PLAIN, 301, undefined],
    ['no address', PLAIN, 301, 'https://['],
    ['a 302', PLAIN, 302, 'https://127.0.0.1:8080/'],
    ['a 308', PLAIN, 308, 'https://127.0.0.1:8080/'],
    ['a call that was HTTPS already', new URL('https://127.0.0.1/v2'), 301, 'https://127.0.0.1:8443/'],
  ])('refuses %s', (_, asked, status, location) => {
    expect(httpsUpgrade(asked, status, location)).toBeUndefined();
  });
});
