import { startServers } from '../../../src/web/server/servers.ts';
import { findSystemdSockets } from '../../../src/web/server/listening.ts';

// This program serves on the sockets that its parent hands over, as systemd does, and prints their addresses.

// The parent cannot know the id of this process before it starts.
const environment = { LISTEN_FDS: process.env.LISTEN_FDS, LISTEN_PID: String(process.pid) };
const { addresses } = await startServers({
  app: (_request, response) => response.end('from the handed-over socket'),
  listen: [],
  sockets: findSystemdSockets(environment, process.pid),
  compare: () => Promise.resolve(false),
  routePrefix: '/',
  refusedLogin: () => undefined,
  failed: (error) => process.stderr.write(String(error)),
  warn: (message) => process.stderr.write(`${message}\n`),
  monotonic: () => performance.now(),
});
process.stdout.write(`${addresses.join(' ')}\n`);
