import { describe, expect, it } from 'vitest';
import { moved, resolve, under } from '../../../src/api/http/address.ts';

describe('under', () => {
  it.each([
    ['https://api.example/v2', '/x.json?a=1', 'https://api.example/v2/x.json?a=1'],
    ['https://api.example/v2/', '/x.json', 'https://api.example/v2/x.json'],
    ['https://api.example/far/v2', '/x.json?a=%3F', 'https://api.example/far/v2/x.json?a=%3F'],
    ['https://api.example//v2', '/x.json', 'https://api.example//v2/x.json'],
  ])('puts under %s the path %s', (base, path, expected) => {
    expect(under(new URL(base), path).href).toBe(expected);
  });
});

describe('moved', () => {
  it('never takes a path for a host', () => {
    expect(moved(new URL('http://a.example//evil.example/x?y=1'), 'https://a.example').href).toBe(
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
