import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseLinks } from '../../../src/api/rest/restClient.ts';

describe('parseLinks', () => {
  it.each<[string, string, [string, string[]][]]>([
    [
      'no space',
      '<http://a/?page=2>;rel="next",<http://a/?page=3>;rel="last"',
      [
        ['http://a/?page=2', ['next']],
        ['http://a/?page=3', ['last']],
      ],
    ],
    [
      'spaces everywhere',
      ' <http://a/> ; rel = "next" , <http://b/> ; rel = last ',
      [
        ['http://a/', ['next']],
        ['http://b/', ['last']],
      ],
    ],
    ['no quotes', '<http://a/>; rel=next', [['http://a/', ['next']]]],
    ['capitals', '<http://a/>; REL="Next"', [['http://a/', ['next']]]],
    ['two relations', '<http://a/>; rel="next last"', [['http://a/', ['next', 'last']]]],
    ['further parameters', '<http://a/>; title="a, b; c"; rel="next"; type', [['http://a/', ['next']]]],
    ['a quoted quote', '<http://a/>; title="say \\"rel=prev\\""; rel="ne\\xt"', [['http://a/', ['next']]]],
    ['a comma in the address', '<http://a/?x=1,2>; rel="next"', [['http://a/?x=1,2', ['next']]]],
    ['only the first rel', '<http://a/>; rel="prev"; rel="next"', [['http://a/', ['prev']]]],
    [
      'empty elements',
      ', ,<http://a/>; rel="next",, <http://b/>',
      [
        ['http://a/', ['next']],
        ['http://b/', []],
      ],
    ],
    [
      'a stray semicolon',
      '<http://a/>; rel="next";, <http://b/>; rel="last"',
      [
        ['http://a/', ['next']],
        ['http://b/', ['last']],
      ],
    ],
    ['nothing', '', []],
    ['no link', 'next', []],
    ['an open bracket', '<http://a/; rel="next"', []],
  ])('reads %s', (_, header, expected) => {
    expect(parseLinks(header).map(({ target, relations }) => [target, relations])).toEqual(expected);
  });

  it('ends, and never throws, on any text', () => {
    const piece = fc.constantFrom('<', '>', ';', ',', '"', '\\', ' ', '=', 'rel', 'next', 'http://a/');
    fc.assert(fc.property(fc.array(piece), (pieces) => Array.isArray(parseLinks(pieces.join('')))));
  });
});
