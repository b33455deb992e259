/** Runs in the program before its own code: while the file named by FAILING_NAMES exists, no host name is found. */
const SCRIPT = `
import dns from 'node:dns';
import { existsSync } from 'node:fs';
const { lookup } = dns;
dns.lookup = (name, options, callback) => {
  if (!existsSync(process.env.FAILING_NAMES)) return lookup(name, options, callback);
  const error = Object.assign(new Error('getaddrinfo ENOTFOUND ' + name), { code: 'ENOTFOUND', hostname: name });
  process.nextTick(callback ?? options, error);
};
`;

/** The flag of Node that loads it. */
export const FAILING_NAMES_FLAG = `--import=data:text/javascript,${encodeURIComponent(SCRIPT)}`;
