import { BlockList, isIP } from 'node:net';
import { domainToASCII } from 'node:url';

type Environment = Readonly<Record<string, string | undefined>>;

/** The message follows the variable's name, and never quotes a secret. */
export interface ProxyRemark {
  readonly variable: string;
  readonly message: string;
}

export interface Proxy {
  /** Without user and password. */
  readonly url: URL;
  /** Value of `Proxy-Authorization`; undefined: the address names no user. */
  readonly authorization: string | undefined;
}

export interface ProxySettings {
  /** Undefined: every call goes directly to New Relic. */
  readonly proxy: Proxy | undefined;
  /** True for an address that `NO_PROXY` names. */
  readonly isExcluded: (url: URL) => boolean;
  readonly fault: ProxyRemark | undefined;
  readonly warnings: readonly ProxyRemark[];
}

/**
 * Reads `HTTPS_PROXY` and `NO_PROXY` like curl and Go (docs/operations.md, "Proxy", has the cases in which the two
 * differ). Ignores `HTTP_PROXY`: plain HTTP is for addresses of this machine.
 */
export function readProxySettings(environment: Environment): ProxySettings {
  const proxy = readVariable(environment, 'https_proxy');
  if (proxy === undefined) {
    const other = readVariable(environment, 'all_proxy');
    const message = 'is not read, so that every call goes directly: set HTTPS_PROXY';
    const warnings = other === undefined ? [] : [{ variable: other.name, message }];
    return { proxy: undefined, isExcluded: () => true, fault: undefined, warnings };
  }
  const exclusion = readVariable(environment, 'no_proxy');
  const { isExcluded, unknown } = parseNoProxy(exclusion?.text ?? '');
  const parsed = parseProxy(proxy.text);
  const warnings = [proxy, exclusion].flatMap((each) => findDifference(environment, each));
  for (const entry of unknown) {
    // An entry with a user name may have a password too.
    const shown = entry.includes('@') ? 'one with "@"' : JSON.stringify(entry);
    const message = `has an entry that is not understood, so that it excludes nothing: ${shown}; ${FORMS}`;
    warnings.push({ variable: exclusion?.name ?? '', message });
  }
  if ('problem' in parsed) {
    return { proxy: undefined, isExcluded, fault: { variable: proxy.name, message: parsed.problem }, warnings };
  }
  return { proxy: parsed, isExcluded, fault: undefined, warnings };
}

const FORMS = 'write names, .example.com, *.example.com, addresses or ranges such as 10.0.0.0/8, with commas between';

/** Returns a variable by its name in lower case, else in upper case. An empty variable counts as not set. */
function readVariable(environment: Environment, lower: string): { name: string; text: string } | undefined {
  for (const name of [lower, lower.toUpperCase()]) {
    const text = environment[name]?.trim() ?? '';
    if (text !== '') return { name, text };
  }
  return undefined;
}

/** Warns if the lower and upper case variables differ: curl and Go then disagree. */
function findDifference(environment: Environment, used: { name: string; text: string } | undefined): ProxyRemark[] {
  const upper = used?.name.toUpperCase() ?? '';
  const other = environment[upper]?.trim() ?? '';
  if (used === undefined || upper === used.name || other === '' || other === used.text) return [];
  return [{ variable: upper, message: `differs from ${used.name}, which counts: unset one of the two` }];
}

const EXAMPLE = 'it should look like http://proxy.example:3128';

function parseProxy(text: string): Proxy | { readonly problem: string } {
  if (/^["'`].*["'`]$/s.test(text)) return { problem: `has quotes around it: remove them, ${EXAMPLE}` };
  if (/^socks[0-9a-z]*:/i.test(text)) {
    return { problem: `names a SOCKS proxy, which is not supported: name an HTTP proxy, ${EXAMPLE}` };
  }
  const address = text.includes('://') ? text : `http://${text}`;
  if (/\s/.test(text) || !/^https?:\/\/[^/]/i.test(address) || !URL.canParse(address)) {
    return { problem: `is not a valid address: ${EXAMPLE}` };
  }
  const url = new URL(address);
  // In a typo such as `http:proxy:3128`, `http` would become the host.
  if (/^https?$/.test(url.hostname) && !text.includes('://')) return { problem: `is not a valid address: ${EXAMPLE}` };
  if (/@/.test(`${url.pathname}${url.search}${url.hash}`)) {
    return { problem: 'has a "/", "?" or "#" in its user name or password: write %2F, %3F or %23 instead' };
  }
  return takeCredentials(url);
}

function takeCredentials({ username, password, origin }: URL): Proxy | { readonly problem: string } {
  const url = new URL(origin);
  if (username === '' && password === '') return { url, authorization: undefined };
  try {
    const [user, secret] = [decodeURIComponent(username), decodeURIComponent(password)];
    if (user.includes(':')) return { problem: 'has a ":" in its user name, which no proxy can be sent' };
    return { url, authorization: `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}` };
  } catch {
    return { problem: 'has a "%" in its user name or password that begins no code such as %40: write %25 for a "%"' };
  }
}

/** Reads entries with white space or commas between. */
function parseNoProxy(text: string): { isExcluded: ProxySettings['isExcluded']; unknown: readonly string[] } {
  const rules: Rule[] = [];
  const unknown: string[] = [];
  for (const entry of text.split(/[\s,]+/).filter((part) => part !== '')) {
    const rule = parseEntry(entry);
    if (rule === undefined) unknown.push(entry);
    else rules.push(rule);
  }
  const isExcluded = (url: URL): boolean => {
    const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
    const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
    return rules.some((rule) => rule(host, port));
  };
  return { isExcluded, unknown };
}

/** True for an excluded host: a name in lower case, or an address without brackets. */
type Rule = (host: string, port: string) => boolean;

const BRACKETS = /^\[([^\]]*)\](?::([0-9]{1,5}))?$/;
const WITH_PORT = /^([^:]*):([0-9]{1,5})$/;
/** A host name, perhaps after a dot or `*.`. A last label that is a number would be a part of an IP address. */
const DOMAIN = /^(\*?\.)?((?:[a-z0-9_-]+\.)*(?![0-9]+$)[a-z0-9_-]+)$/;

function parseEntry(entry: string): Rule | undefined {
  if (entry === '*') return () => true;
  const range = /^(.+)\/([0-9]{1,3})$/.exec(entry);
  if (range !== null) return createRangeRule(range[1] ?? '', Number(range[2]));
  const [, inBrackets, portOfAddress] = BRACKETS.exec(entry) ?? [];
  const [, plain = entry, portOfName] = isIP(entry) === 0 ? (WITH_PORT.exec(entry) ?? []) : [];
  const port = portOfAddress ?? portOfName;
  if (inBrackets !== undefined && isIP(inBrackets) !== 6) return undefined;
  const rule = createHostRule(inBrackets ?? plain);
  return rule === undefined || port === undefined
    ? rule
    : (host, actual) => actual === String(Number(port)) && rule(host, actual);
}

function createHostRule(host: string): Rule | undefined {
  const kind = isIP(host);
  if (kind !== 0) return createRangeRule(host, kind === 4 ? 32 : 128);
  const [, before = '', written = ''] = /^(\*?\.)?([\w.\-\u{80}-\u{10ffff}]+?)\.?$/u.exec(host) ?? [];
  const [, prefix, name] = DOMAIN.exec(before + domainToASCII(written)) ?? [];
  if (name === undefined) return undefined;
  return (actual) => actual.endsWith(`.${name}`) || (prefix !== '*.' && actual === name);
}

function createRangeRule(address: string, bits: number): Rule | undefined {
  const kind = isIP(address);
  if (kind === 0 || bits > (kind === 4 ? 32 : 128) || address.includes('%')) return undefined;
  const range = new BlockList();
  range.addSubnet(address, bits, kind === 4 ? 'ipv4' : 'ipv6');
  return (host) => isIP(host) !== 0 && range.check(host, isIP(host) === 4 ? 'ipv4' : 'ipv6');
}
