/** The first file descriptor that systemd hands over, as in sd_listen_fds(3). */
const FIRST_SOCKET = 3;

/** Thrown when `--web.systemd-socket` is given but systemd handed no socket to this process. */
export class SystemdSocketError extends Error {
  override readonly name = 'SystemdSocketError';
}

/**
 * File descriptors of the sockets that systemd handed to this process (`LISTEN_PID`, `LISTEN_FDS`).
 * Throws a {@link SystemdSocketError} where there are none.
 */
export function systemdSockets(environment: Readonly<Record<string, string | undefined>>, pid: number): number[] {
  const { LISTEN_FDS: count, LISTEN_PID: owner } = environment;
  if (count === undefined || owner === undefined) {
    throw new SystemdSocketError(
      '--web.systemd-socket is given but systemd handed over no socket (LISTEN_FDS and LISTEN_PID are not set): start the service through its .socket unit.',
    );
  }
  if (owner !== String(pid)) {
    throw new SystemdSocketError(
      `--web.systemd-socket is given but the sockets belong to process ${owner} (LISTEN_PID), not to this one (${pid}).`,
    );
  }
  if (!/^[1-9]\d{0,3}$/.test(count)) {
    throw new SystemdSocketError(
      `--web.systemd-socket is given but LISTEN_FDS is "${count}": no socket was handed over.`,
    );
  }
  return Array.from({ length: Number(count) }, (_, index) => FIRST_SOCKET + index);
}
