// Loaded before the program: while the file named by FAILING_NAMES exists, no host name can be looked up.
import dns from 'node:dns';
import { existsSync } from 'node:fs';

const { lookup } = dns;
dns.lookup = (name, options, callback) => {
  const done = typeof options === 'function' ? options : callback;
  if (!existsSync(process.env.FAILING_NAMES)) {
    lookup(name, options, callback);
    return;
  }
  const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: 'ENOTFOUND', hostname: name });
  process.nextTick(done, error);
};
