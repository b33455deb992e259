import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { formatAddress, type ListenAddress } from './listenAddress.ts';

/** An address could not be listened on: exit status 1. The message is one sentence. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** An address, or a socket that systemd has opened. */
type Target = ListenAddress | { readonly fd: number };

/** Listens and gives the address as `host:port`. Throws a {@link ListenError}. */
export async function listen(server: Server, target: Target): Promise<string> {
  const asked =
    'fd' in target ? `the socket of file descriptor ${target.fd}` : formatAddress(target.host ?? '', target.port);
  await new Promise<void>((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => reject(new ListenError(whyNot(asked, error)));
    server.once('error', fail);
    server.listen('fd' in target ? { fd: target.fd } : { port: target.port, host: target.host }, () => {
      server.off('error', fail);
      resolve();
    });
  });
  return reported(server.address(), asked);
}

/** Node does not tell the path of a unix socket that systemd handed over. */
function reported(address: AddressInfo | string | null, asked: string): string {
  if (address === null || typeof address === 'string') return address ?? asked;
  return formatAddress(address.address, address.port);
}

function whyNot(asked: string, error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return `Cannot listen on ${asked}: another process uses this address; stop it or choose another --web.listen-address.`;
    case 'EACCES':
      return `Cannot listen on ${asked}: no permission for this port; choose one above 1023 with --web.listen-address.`;
    case 'EADDRNOTAVAIL':
      return `Cannot listen on ${asked}: this machine has no such address; correct --web.listen-address.`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `Cannot listen on ${asked}: the host name is not known; correct --web.listen-address.`;
    default:
      return `Cannot listen on ${asked}: ${error.message}`;
  }
}
