import { randomBytes } from 'node:crypto';
import type { Server } from 'node:https';
import { clientRefusal } from './clientCertificates.ts';
import type { TlsSettings } from '../webConfig/tlsSettings.ts';
import type { WebConfigStore } from '../webConfig/store.ts';

/** A context without a certificate: every handshake fails with a TLS alert. */
const NO_HANDSHAKE = { minVersion: 'TLSv1.2' } as const;
const TICKET_KEY_BYTES = 48;

/**
 * Keeps a TLS server at what the web configuration says now: each new connection gets the certificate, client authority
 * and versions of that moment. While the file is invalid, or has no TLS any more, handshakes fail.
 */
export function followTlsSettings(server: Server, store: WebConfigStore, warn: (message: string) => void): void {
  const settingsNow = (): TlsSettings | undefined => {
    const current = store.current();
    return 'config' in current ? current.config.tls : undefined;
  };
  let inForce = settingsNow();
  if (inForce?.context.ca === undefined && inForce?.clientAuth === 'RequireAndVerifyClientCert') {
    warn('There is no client_ca_file: clients are let in with a certificate of any public authority.');
  }
  const asksForCertificate = inForce !== undefined && inForce.clientAuth !== 'NoClientCert';

  // Before the server's own listener, which takes the context of this moment for the handshake.
  server.prependListener('connection', () => {
    const settings = settingsNow();
    if (settings === inForce) return;
    inForce = settings;
    // New ticket keys: a session verified under the old authority must not be resumed under the new one.
    server.setSecureContext({ ...(settings?.context ?? NO_HANDSHAKE), ticketKeys: randomBytes(TICKET_KEY_BYTES) });
    if (settings !== undefined && (settings.clientAuth !== 'NoClientCert') !== asksForCertificate) {
      warn('client_auth_type was switched on or off in the web configuration: restart to put it into force.');
    }
  });
  server.prependListener('secureConnection', (socket) => {
    const refusal = inForce === undefined ? 'TLS is switched off' : clientRefusal(socket, inForce);
    if (refusal === undefined) return;
    warn(`A client at ${socket.remoteAddress ?? 'an unknown address'} was refused: ${refusal}.`);
    socket.destroy();
  });
}
