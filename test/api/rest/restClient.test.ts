import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createMetricTarget,
  encodeQuery,
  createTarget,
  nextPage,
  parseLinks,
} from '../../../src/api/rest/restClient.ts';

describe('a target', () => {
  it('has its path template and its address', () => {
    expect(createTarget('/applications.json')).toEqual({ endpoint: '/applications.json', path: '/applications.json' });
    expect(createMetricTarget('metrics.json', { applicationId: 7, hostKey: '8/9' }, 'name=x')).toEqual({
      endpoint: '/applications/{id}/hosts/{host_id}/metrics.json',
      path: '/applications/7/hosts/8%2F9/metrics.json?name=x',
    });
  });

  it('encodes every name so that the name is read back unchanged', () => {
    const names = ['CPU/User Time', 'Component/Memory/RSS[bytes]', 'a|b%c&d=e#f+g?h', 'Größe/日本', "it's (ok)!*"];
    const query = encodeQuery(names.map((name) => ['names[]', name]));
    expect(new URLSearchParams(query).getAll('names[]')).toEqual(names);
    expect(query).toMatch(/^[\w.&=%~'()!*-]+$/);
  });

  it('encodes a lone surrogate as the replacement character', () => {
    expect(encodeQuery([['name', 'a\ud800b']])).toBe('name=a%EF%BF%BDb');
  });
});

const PAGE = new URL('https://api.example/v2/applications.json');
const refuse = (words: string): Error => new Error(words);
const next = (target: string, more = ''): string => `<${target}>; rel="next"${more}`;

describe('nextPage', () => {
  it.each<[string, string | undefined]>([
    ['no header', undefined],
    ['no next', '<https://api.example/v2/applications.json?page=1>; rel="first"'],
    ['an empty cursor', next('https://api.example/v2/applications.json?page=2&cursor=')],
    ['a last page 0', next('?page=1', ', <?page=0>; rel="last"')],
  ])('ends with %s', (_, header) => {
    expect(nextPage(PAGE, header, refuse)).toBeUndefined();
  });

  it.each([
    ['an address', 'https://api.example/v2/applications.json?page=2'],
    ['an address with the default port', 'https://api.example:443/v2/applications.json?page=2'],
    ['a path', '/v2/applications.json?page=2'],
    ['a query', '?page=2'],
  ])('continues at %s', (_, target) => {
    expect(nextPage(PAGE, next(target, ', <?page=3>; rel="last"'), refuse)).toBe('?page=2');
  });

  it.each([
    ['another host', 'https://evil.example/v2/applications.json?page=2', 'origin'],
    ['another scheme', 'http://api.example/v2/applications.json?page=2', 'origin'],
    ['another port', 'https://api.example:8443/v2/applications.json?page=2', 'origin'],
    ['a host without scheme', '//evil.example/v2/applications.json?page=2', 'origin'],
    ['a script', 'javascript:alert(1)', 'origin'],
    ['another path', '/v2/users.json?page=2', 'path'],
    ['a path out of ours', '/v2/applications.json/../users.json?page=2', 'path'],
    ['no address', 'https://[', 'not a valid address'],
  ])('refuses %s', (_, target, why) => {
    expect(() => nextPage(PAGE, next(target), refuse)).toThrow(why);
  });

  it.each([
    ['adds our filters', '?filter[ids]=1,2&a=b', '?page=2', { 'filter[ids]': '1,2', a: 'b', page: '2' }],
    ['lets the parameters of next win', '?name=a', '?name=b&page=2', { name: 'b', page: '2' }],
    ['puts a cursor in place of the page number', '?name=a', '?page=2&cursor=xyz', { name: 'a', cursor: 'xyz' }],
    ['takes the next cursor, not the last', '?name=a&cursor=1', '?page=3&cursor=2', { name: 'a', cursor: '2' }],
    ['does not carry the number of our page over', '?name=a&page=2', '?offset=20', { name: 'a', offset: '20' }],
    ['does not carry the page we were on over', '?name=a&cursor=1', '?page=3', { name: 'a', page: '3' }],
  ])('%s', (_, ours, theirs, expected) => {
    const result = nextPage(new URL(ours, PAGE), next(theirs), refuse);
    expect(Object.fromEntries(new URLSearchParams(result))).toEqual(expected);
  });

  it('keeps a parameter of the request that occurs several times', () => {
    const result = nextPage(new URL('?names[]=a&names[]=b', PAGE), next('?page=2'), refuse);
    expect(new URLSearchParams(result).getAll('names[]')).toEqual(['a', 'b']);
  });
});

describe('parseLinks', () => {
  it.each([
    ['no space', '<http://a/?page=2>;rel="next",<http://b/>;rel="last"', 'http://a/?page=2 next, http://b/ last'],
    ['spaces everywhere', ' <http://a/> ; rel = "next" , <http://b/> ; rel = last ', 'http://a/ next, http://b/ last'],
    ['no quotes', '<http://a/>; rel=next', 'http://a/ next'],
    ['capitals', '<http://a/>; REL="Next"', 'http://a/ next'],
    ['two relations', '<http://a/>; rel="next last"', 'http://a/ next last'],
    ['further parameters', '<http://a/>; title="a, b; c"; rel="next"; type', 'http://a/ next'],
    ['a comma in the address', '<http://a/?x=1,2>; rel="next"', 'http://a/?x=1,2 next'],
    ['only the first rel', '<http://a/>; rel="prev"; rel="next"', 'http://a/ prev'],
    ['empty elements', ', ,<http://a/>; rel="next",, <http://b/>', 'http://a/ next, http://b/'],
    ['a stray semicolon', '<http://a/>; rel="next";, <http://b/>; rel="last"', 'http://a/ next, http://b/ last'],
    ['nothing', '', ''],
    ['no link', 'next', ''],
    ['an open bracket', '<http://a/; rel="next"', ''],
  ])('reads %s', (_, header, expected) => {
    expect(
      parseLinks(header)
        .map(({ target, relations }) => [target, ...relations].join(' '))
        .join(', '),
    ).toBe(expected);
  });

  it('terminates without an error on any text', () => {
    const piece = fc.constantFrom('<', '>', ';', ',', '"', '\\', ' ', '=', 'rel', 'next', 'http://a/');
    fc.assert(fc.property(fc.array(piece), (pieces) => Array.isArray(parseLinks(pieces.join('')))));
  });
});
