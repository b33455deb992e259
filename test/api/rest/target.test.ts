import { describe, expect, it } from 'vitest';
import { metricTarget, queryOf, target } from '../../../src/api/rest/restClient.ts';

describe('a target', () => {
  it('has the template that it is counted under, and its address', () => {
    expect(target('/applications.json')).toEqual({ endpoint: '/applications.json', path: '/applications.json' });
    expect(metricTarget('metrics.json', { applicationId: 7, hostKey: '8/9' }, 'name=x')).toEqual({
      endpoint: '/applications/{id}/hosts/{host_id}/metrics.json',
      path: '/applications/7/hosts/8%2F9/metrics.json?name=x',
    });
  });

  it('has every name encoded so that it is read back as it was', () => {
    const names = ['CPU/User Time', 'Component/Memory/RSS[bytes]', 'a|b%c&d=e#f+g?h', 'Größe/日本', "it's (ok)!*"];
    const query = queryOf(names.map((name) => ['names[]', name]));
    expect(new URLSearchParams(query).getAll('names[]')).toEqual(names);
    expect(query).toMatch(/^[\w.&=%~'()!*-]+$/);
  });

  it('has half a surrogate pair encoded as the character for broken text', () => {
    expect(queryOf([['name', 'a\ud800b']])).toBe('name=a%EF%BF%BDb');
  });
});
