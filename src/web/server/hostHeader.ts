const HOST = /^(?:\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252}[A-Za-z0-9_.])?)(?::\d{1,5})?$/;

/** True for `host`, `host:port`, `[IPv6]` and `[IPv6]:port`. */
export function isHostHeader(host: string): boolean {
  return HOST.test(host) && Number(/:(\d{1,5})$/.exec(host)?.[1] ?? 0) <= 65_535;
}
