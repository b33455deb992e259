import { randomBytes, type X509Certificate } from 'node:crypto';
import type { Server } from 'node:https';
import { isIPv6 } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { asksForCertificate, type TlsSettings } from '../webConfig/tlsSettings.ts';
import type { WebConfigStore } from '../webConfig/webConfig.ts';

const TICKET_KEY_BYTES = 48;

/**
 * Applies changes of the web configuration to a TLS server, from the next connection on. Keeps the last valid settings
 * while the file is invalid, so that health checks work. Reports each refused client to `refused`.
 */
export function followTlsSettings(
  server: Server,
  store: WebConfigStore,
  warn: (message: string) => void,
  refused: (message: string) => void,
): void {
  let inForce = store.tls();
  if (inForce?.context.ca === undefined && inForce?.clientAuth === 'RequireAndVerifyClientCert') {
    warn('client_ca_file is missing: the exporter accepts client certificates of any public authority.');
  }
  const asks = inForce !== undefined && asksForCertificate(inForce);

  // This listener runs before the server's listener, which starts the handshake with the current context.
  server.prependListener('connection', () => {
    const settings = store.tls();
    if (settings === undefined || settings === inForce) return;
    inForce = settings;
    // New ticket keys, because a session that the old authority verified must not resume.
    server.setSecureContext({ ...settings.context, ticketKeys: randomBytes(TICKET_KEY_BYTES) });
    if (asksForCertificate(settings) !== asks) {
      warn('client_auth_type was switched on or off in the web configuration: restart the exporter to apply it.');
    }
  });
  server.prependListener('secureConnection', (socket) => {
    const refusal = inForce === undefined ? 'TLS is switched off' : findRefusal(socket, inForce);
    if (refusal === undefined) return;
    refused(`Refused a client at ${socket.remoteAddress ?? 'an unknown address'}: ${refusal}.`);
    socket.destroy();
  });
}

/** Types of names that `client_allowed_sans` may list, in Node's spelling. */
const KINDS = ['DNS', 'IP Address', 'email', 'URI'];

/** Runs after the handshake, because some types of `client_auth_type` accept a certificate that TLS cannot verify. */
function findRefusal(socket: TLSSocket, settings: TlsSettings): string | undefined {
  const type = settings.clientAuth;
  if (!asksForCertificate(settings) || type === 'RequestClientCert') return undefined;
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return type === 'VerifyClientCertIfGiven' ? undefined : 'it sent no certificate';
  const mustVerify = type === 'VerifyClientCertIfGiven' || type === 'RequireAndVerifyClientCert';
  if (mustVerify && !socket.authorized) {
    return `its certificate cannot be verified (${String(socket.authorizationError)})`;
  }
  const allowed = settings.allowedSans;
  if (allowed.length > 0 && !readAlternativeNames(certificate).some((name) => allowed.includes(name))) {
    return 'its certificate has no name from client_allowed_sans';
  }
  return undefined;
}

/** Returns DNS names, IP addresses, e-mail addresses and URIs of a certificate, in the form of the file. */
export function readAlternativeNames(certificate: Pick<X509Certificate, 'subjectAltName'>): string[] {
  const entries = (certificate.subjectAltName ?? '').matchAll(/(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)/g);
  return [...entries].flatMap(([, kind = '', value = '']) => {
    if (!KINDS.includes(kind)) return [];
    // Node writes an ambiguous value as a JSON string.
    const text: unknown = value.startsWith('"') ? JSON.parse(value) : value;
    if (typeof text !== 'string') return [];
    // Node writes an IPv6 address in its long form, but operators write `::1`.
    const isLong = kind === 'IP Address' && isIPv6(text);
    return [isLong ? new URL(`http://[${text}]`).hostname.slice(1, -1) : text];
  });
}
