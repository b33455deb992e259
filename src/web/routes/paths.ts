/** The endpoints but for the telemetry path and the status page, before the route prefix is put in front. */
export const PATHS = {
  probe: '/probe',
  discovery: '/sd',
  status: '/api/status',
  config: '/config',
  healthy: '/-/healthy',
  ready: '/-/ready',
  reload: '/-/reload',
} as const;

/** True of a path that cannot be the telemetry path, because another endpoint has it. "/" can: the status page yields. */
export function isTaken(path: string): boolean {
  return Object.values<string>(PATHS).includes(path);
}
