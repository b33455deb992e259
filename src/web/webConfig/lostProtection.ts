import type { OpenOnPurpose, WebConfig } from './webConfig.ts';

/**
 * What a changed file would open to everybody, but not on purpose, each with what to write instead; empty where it opens
 * nothing. A file that is being written, or was cut off, looks like one from which users were removed.
 */
export function lostProtection(before: WebConfig, after: WebConfig, onPurpose: OpenOnPurpose): string[] {
  const lost: string[] = [];
  if (before.tls !== undefined && after.tls === undefined) {
    lost.push('tls_server_config has gone: restart the exporter to serve plain HTTP');
  }
  if (before.users.size > 0 && after.users.size === 0 && !onPurpose.noUsers) {
    lost.push('basic_auth_users has gone: write "basic_auth_users: {}" to let everybody in without a password');
  }
  const asked = (before.tls?.clientAuth ?? 'NoClientCert') !== 'NoClientCert';
  if (asked && after.tls?.clientAuth === 'NoClientCert' && !onPurpose.noClientCertificates) {
    lost.push(
      'client_auth_type has gone: write "client_auth_type: NoClientCert" to let everybody in without a certificate',
    );
  }
  return lost;
}
