import { randomBytes, type X509Certificate } from 'node:crypto';
import type { Server } from 'node:https';
import { isIPv6 } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { asksForCertificate, type TlsSettings } from '../webConfig/tlsSettings.ts';
import type { WebConfigStore } from '../webConfig/webConfig.ts';

const TICKET_KEY_BYTES = 48;

/**
 * Keeps a TLS server in step with the web configuration: each new connection gets the certificate, client authority and
 * versions of that moment. While the file is invalid the last valid ones stay, so that health can be checked. `refused` hears of
 * each client that is refused.
 */
export function followTlsSettings(
  server: Server,
  store: WebConfigStore,
  warn: (message: string) => void,
  refused: (message: string) => void,
): void {
  let inForce = store.tls();
  if (inForce?.context.ca === undefined && inForce?.clientAuth === 'RequireAndVerifyClientCert') {
    warn('There is no client_ca_file: clients are let in with a certificate of any public authority.');
  }
  const asks = inForce !== undefined && asksForCertificate(inForce);

  // This listener runs before the server's own one, which takes the present context for the handshake.
  server.prependListener('connection', () => {
    const settings = store.tls();
    if (settings === undefined || settings === inForce) return;
    inForce = settings;
    // New ticket keys: a session verified under the old authority must not be resumed under the new one.
    server.setSecureContext({ ...settings.context, ticketKeys: randomBytes(TICKET_KEY_BYTES) });
    if (asksForCertificate(settings) !== asks) {
      warn('client_auth_type was switched on or off in the web configuration: restart to put it into force.');
    }
  });
  server.prependListener('secureConnection', (socket) => {
    const refusal = inForce === undefined ? 'TLS is switched off' : clientRefusal(socket, inForce);
    if (refusal === undefined) return;
    refused(`A client at ${socket.remoteAddress ?? 'an unknown address'} was refused: ${refusal}.`);
    socket.destroy();
  });
}

/** Kinds of names that `client_allowed_sans` may list, as Node spells them. */
const KINDS = ['DNS', 'IP Address', 'email', 'URI'];

/**
 * Why a TLS connection must be refused, given `client_auth_type` and `client_allowed_sans`; undefined when it may stay. The
 * softer types accept certificates that TLS itself could not verify, so the decision is made after the handshake.
 */
function clientRefusal(socket: TLSSocket, settings: TlsSettings): string | undefined {
  const type = settings.clientAuth;
  if (!asksForCertificate(settings) || type === 'RequestClientCert') return undefined;
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) {
    return type === 'VerifyClientCertIfGiven' ? undefined : 'the client sent no certificate';
  }
  const verified = type === 'VerifyClientCertIfGiven' || type === 'RequireAndVerifyClientCert';
  if (verified && !socket.authorized) {
    return `the client's certificate was not verified (${String(socket.authorizationError)})`;
  }
  const allowed = settings.allowedSans;
  if (allowed !== undefined && !alternativeNames(certificate).some((name) => allowed.includes(name))) {
    return "the client's certificate has none of the names in client_allowed_sans";
  }
  return undefined;
}

/** DNS names, IP addresses, e-mail addresses and URIs of a certificate, in the form in which the file lists them. */
export function alternativeNames(certificate: Pick<X509Certificate, 'subjectAltName'>): string[] {
  const entries = (certificate.subjectAltName ?? '').matchAll(/(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)/g);
  return [...entries].flatMap(([, kind = '', value = '']) => {
    if (!KINDS.includes(kind)) return [];
    // Node writes a value that could be mistaken for further entries as a JSON string.
    const text: unknown = value.startsWith('"') ? JSON.parse(value) : value;
    if (typeof text !== 'string') return [];
    // Node gives the long form of an IPv6 address, but operators write `::1`.
    const isLong = kind === 'IP Address' && isIPv6(text);
    return [isLong ? new URL(`http://[${text}]`).hostname.slice(1, -1) : text];
  });
}
