import { describe, expect, it } from 'vitest';
import { readProxySettings } from '../../../src/api/http/proxySettings.ts';
import { NO_PROXY_ROWS } from '../../support/noProxyRows.ts';

const PROXY = 'http://proxy.example:3128';

describe('NO_PROXY', () => {
  it.each(NO_PROXY_ROWS)('$noProxy lets a call to $url go $ours', ({ url, noProxy, ours, unknown = [] }) => {
    const settings = readProxySettings({ HTTPS_PROXY: PROXY, NO_PROXY: noProxy });
    expect(settings.isExcluded(new URL(url)) ? 'direct' : 'proxy').toBe(ours);
    const named = settings.warnings.map(({ variable, message }) => `${variable}: ${message}`);
    const excluding = /excludes nothing: ("(?:[^"\\]|\\.)*");/;
    expect(named.map((text) => excluding.exec(text)?.[1])).toEqual(unknown.map((entry) => JSON.stringify(entry)));
  });

  it('does not show an entry that may hold a password', () => {
    const { warnings } = readProxySettings({ HTTPS_PROXY: PROXY, NO_PROXY: 'user:s3cr3t@proxy.example' });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]?.message).not.toContain('s3cr3t');
  });

  it('accepts names in any script', () => {
    const { isExcluded } = readProxySettings({ HTTPS_PROXY: PROXY, NO_PROXY: 'bücher.example' });
    expect(isExcluded(new URL('https://api.bücher.example/'))).toBe(true);
  });
});

describe('the proxy variables', () => {
  const used = (env: Record<string, string>): unknown => {
    const { proxy, isExcluded, warnings } = readProxySettings(env);
    const way = proxy === undefined || isExcluded(new URL('https://api.example.com')) ? 'direct' : proxy.url.host;
    return warnings.length === 0 ? way : [way, ...warnings.map(({ variable }) => variable)];
  };
  it.each<[Record<string, string>, unknown]>([
    [{ https_proxy: 'http://a:1', HTTPS_PROXY: 'http://b:1' }, ['a:1', 'HTTPS_PROXY']],
    [{ https_proxy: 'http://a:1', HTTPS_PROXY: 'http://a:1' }, 'a:1'],
    [{ https_proxy: '', HTTPS_PROXY: 'http://b:1' }, 'b:1'],
    [{ https_proxy: ' ', HTTPS_PROXY: ' http://b:1\r\n' }, 'b:1'],
    [{ HTTPS_PROXY: 'http://b:1', no_proxy: '', NO_PROXY: '*' }, 'direct'],
    [{ HTTPS_PROXY: 'http://b:1', no_proxy: '*', NO_PROXY: '' }, 'direct'],
    [{ HTTPS_PROXY: 'http://b:1', no_proxy: 'other.com', NO_PROXY: '*' }, ['b:1', 'NO_PROXY']],
    [{ https_proxy: '', HTTPS_PROXY: '' }, 'direct'],
    [{ http_proxy: 'http://a:1', HTTP_PROXY: 'http://a:1' }, 'direct'],
    [{ ALL_PROXY: 'http://a:1' }, ['direct', 'ALL_PROXY']],
    [{ all_proxy: 'socks5://a:1', HTTPS_PROXY: 'http://b:1' }, 'b:1'],
    [{ NO_PROXY: '10.*' }, 'direct'],
  ])('resolve from %j to %j', (env, expected) => {
    expect(used(env)).toEqual(expected);
  });
});

describe("a proxy's address", () => {
  it.each<[string, url: string, user: string | undefined]>([
    ['http://proxy.example:3128', 'http://proxy.example:3128/', undefined],
    ['HTTP://proxy.example:3128/', 'http://proxy.example:3128/', undefined],
    ['proxy.example:3128', 'http://proxy.example:3128/', undefined],
    ['proxy.example', 'http://proxy.example/', undefined],
    ['user:pass@proxy.example:3128', 'http://proxy.example:3128/', 'user:pass'],
    ['http://user@proxy.example:3128', 'http://proxy.example:3128/', 'user:'],
    ['http://user:@proxy.example:3128', 'http://proxy.example:3128/', 'user:'],
    ['http://:pass@proxy.example:3128', 'http://proxy.example:3128/', ':pass'],
    ['http://user:p%40s%25s@proxy.example', 'http://proxy.example/', 'user:p@s%s'],
    ['http://user:p@ss@proxy.example', 'http://proxy.example/', 'user:p@ss'],
    ['http://user:p%C3%A4ss@proxy.example', 'http://proxy.example/', 'user:päss'],
    ['http://DOMAIN%5Cuser:pass@proxy.example', 'http://proxy.example/', 'DOMAIN\\user:pass'],
    ['https://proxy.example', 'https://proxy.example/', undefined],
    ['http://[2001:db8::1]:3128', 'http://[2001:db8::1]:3128/', undefined],
    ['[::1]:3128', 'http://[::1]:3128/', undefined],
    ['http://proxy.example:3128/path', 'http://proxy.example:3128/', undefined],
  ])('may be %s', (text, url, user) => {
    const { proxy, fault } = readProxySettings({ HTTPS_PROXY: text });
    expect(fault).toBeUndefined();
    const header = user === undefined ? undefined : `Basic ${Buffer.from(user).toString('base64')}`;
    expect([proxy?.url.href, proxy?.authorization]).toEqual([url, header]);
  });

  const SECRET = 's3cr3t';
  it.each([
    [`http://user:${SECRET}%zz@proxy.example`, /begins no code such as %40: write %25/],
    [`http://user:50%off${SECRET}@proxy.example`, /begins no code/],
    [`http://%user:${SECRET}@proxy.example`, /begins no code/],
    [`http://user:${SECRET}%FF@proxy.example`, /begins no code/],
    [`http://user:12/${SECRET}@proxy.example`, /write %2F, %3F or %23/],
    [`http://user:12#${SECRET}@proxy.example`, /write %2F, %3F or %23/],
    [`http://user:12?${SECRET}@proxy.example`, /write %2F, %3F or %23/],
    [`http://user:${SECRET}/x@proxy.example`, /is not a valid address/],
    [`http://a%3Ab:${SECRET}@proxy.example`, /has a ":" in its user name/],
    [`"http://user:${SECRET}@proxy.example"`, /has quotes around it/],
    [`socks5://user:${SECRET}@proxy.example`, /SOCKS proxy, which is not supported/],
    ['socks5h://proxy.example:1080', /SOCKS proxy/],
    ['socks://proxy.example:1080', /SOCKS proxy/],
    ['http:proxy.example:3128', /is not a valid address/],
    ['http:/proxy.example', /is not a valid address/],
    ['//proxy.example', /is not a valid address/],
    ['http://', /is not a valid address/],
    ['http://:3128', /is not a valid address/],
    ['http://proxy.example:99999', /is not a valid address/],
    ['ftp://proxy.example', /is not a valid address/],
    [`http://user:${SECRET} word@proxy.example`, /is not a valid address/],
    ['http://a.example http://b.example', /is not a valid address/],
    ['http://[::1', /is not a valid address/],
    ['http://::1:3128', /is not a valid address/],
  ])('is refused without showing its secret: %s', (text, words) => {
    const { fault, proxy } = readProxySettings({ https_proxy: text });
    expect([fault?.variable, proxy]).toEqual(['https_proxy', undefined]);
    expect(fault?.message).toMatch(words);
    expect(fault?.message).not.toContain(SECRET);
  });
});
