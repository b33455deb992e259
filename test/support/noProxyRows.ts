/** How a call to `url` goes with a text in NO_PROXY, in the exporter, in curl and in a program in Go. */
export interface NoProxyRow {
  readonly url: string;
  readonly noProxy: string;
  readonly ours: Way;
  readonly curl: Way;
  readonly go: Way;
  /** Entries of which `check` warns. */
  readonly unknown?: readonly string[];
}

type Way = 'direct' | 'proxy';
type Ways = readonly [ours: Way, curl: Way, go: Way];

const NAME = 'https://api.example.com/';
const NAME_8443 = 'https://api.example.com:8443/';
const IPV4 = 'https://10.1.2.3/';
const IPV6 = 'https://[2001:db8::1]/';
const DIRECT = 'direct';
const PROXY = 'proxy';
/** Both programs understand the text in the same way, or one of them alone does. */

function rows(url: string, ways: Ways, ...texts: string[]): NoProxyRow[] {
  return texts.map((noProxy) => ({ url, noProxy, ours: ways[0], curl: ways[1], go: ways[2] }));
}

/** A text that is not understood, and excludes nothing in any of the three programs unless `ways` says otherwise. */
function unknown(url: string, text: string, ways: Partial<NoProxyRow> = {}): NoProxyRow {
  return { url, noProxy: text, ours: PROXY, curl: PROXY, go: PROXY, unknown: [text], ...ways };
}

const ALL: Ways = [DIRECT, DIRECT, DIRECT];
const NONE: Ways = [PROXY, PROXY, PROXY];
const CURL_ONLY: Ways = [DIRECT, DIRECT, PROXY];
const GO_ONLY: Ways = [DIRECT, PROXY, DIRECT];

/** Every form that curl and Go document, and forms that people write although neither knows them. */
export const NO_PROXY_ROWS: readonly NoProxyRow[] = [
  // Names and their subdomains.
  ...rows(NAME, ALL, 'api.example.com', 'API.Example.COM', 'example.com', '.example.com', 'com', '*'),
  ...rows(NAME, NONE, '', 'other.com', 'ample.com', 'www.example.com', '*.api.example.com', 'example'),
  ...rows(NAME, CURL_ONLY, '.api.example.com', 'example.com.'),
  ...rows(NAME, GO_ONLY, '*.example.com', '*.com'),
  ...rows('https://api.example.com./', ALL, 'api.example.com.'),
  ...rows('https://api.example.com./', CURL_ONLY, 'api.example.com'),
  // Lists.
  ...rows(NAME, ALL, 'other.com,example.com', 'other.com, example.com', ',,example.com', ' example.com '),
  ...rows(NAME, CURL_ONLY, 'other.com example.com', 'other.com\texample.com'),
  ...rows(NAME, [DIRECT, PROXY, PROXY], 'other.com\nexample.com'),
  ...rows(NAME, GO_ONLY, 'other.com,*'),
  // Ports.
  ...rows(NAME, GO_ONLY, 'api.example.com:443', 'example.com:443', '.example.com:443'),
  ...rows(NAME, NONE, 'api.example.com:8443'),
  ...rows(NAME_8443, GO_ONLY, 'api.example.com:8443'),
  ...rows(NAME_8443, NONE, 'api.example.com:443'),
  ...rows(NAME_8443, ALL, 'api.example.com'),
  // Addresses and ranges.
  ...rows(IPV4, ALL, '10.1.2.3', '10.0.0.0/8', '10.1.2.3/32', '10.1.2.0/24', '10.1.2.9/24', '10.1.2.3/8'),
  ...rows(IPV4, NONE, '10.1.2.4', '10.2.0.0/16', '10.1.2.3:80', '2001:db8::1', 'example.com'),
  ...rows(IPV4, GO_ONLY, '10.1.2.3:443', '0.0.0.0/0', '10.1.2.4/0', '::ffff:10.1.2.3'),
  ...rows(IPV6, ALL, '2001:db8::1'),
  ...rows(IPV6, GO_ONLY, '2001:DB8:0::1', '2001:db8::/32', '::/0', '[2001:db8::1]:443'),
  ...rows(IPV6, [DIRECT, PROXY, PROXY], '[2001:db8::1]'),
  ...rows(IPV6, NONE, '[2001:db8::1]:80', '2001:db9::/32', '10.0.0.0/8'),
  // This machine.
  ...rows('https://localhost/', ALL, 'localhost'),
  ...rows('https://localhost/', [PROXY, PROXY, DIRECT], '', '127.0.0.1'),
  ...rows('https://127.0.0.1/', ALL, '127.0.0.0/8'),
  ...rows('https://127.0.0.1/', [PROXY, PROXY, DIRECT], '', 'localhost'),
  ...rows('https://[::1]/', ALL, '::1'),
  ...rows('https://[::1]/', [PROXY, PROXY, DIRECT], ''),
  // Forms that neither program knows.
  unknown(NAME, 'https://api.example.com'),
  unknown(NAME, 'api.example.com/x'),
  unknown(NAME, '*example.com'),
  unknown(NAME, 'api.*'),
  unknown(NAME, '*:443'),
  unknown(NAME, ':443'),
  unknown(NAME, 'api.example.com:', { go: DIRECT }),
  unknown(NAME, '"example.com"'),
  unknown(NAME, 'example.com;other.com'),
  unknown(NAME, '..example.com'),
  unknown(NAME, '<local>'),
  unknown(IPV4, '10.*'),
  unknown(IPV4, '10.'),
  unknown(IPV4, '.2.3', { go: DIRECT }),
  unknown(IPV4, '10/8'),
  unknown(IPV4, '10.1.2.3.'),
  unknown(IPV4, '10.1.2.3/33'),
  unknown(IPV4, '10.1.2.3/', { curl: DIRECT }),
  unknown(IPV4, '10.0.0.0/255.0.0.0'),
  unknown(IPV4, '010.1.2.3'),
  unknown(IPV4, '10.1.2.0-10.1.2.9'),
  unknown(IPV6, '[2001:db8::]/32'),
  unknown(IPV6, '2001:db8::/129'),
  unknown(IPV6, '2001:db8'),
];
