import type { Application } from '../../../src/api/types.ts';

/** An application as the list gives it, as far as plans of queries look at it. */
export function application(id: number, hosts: number): Application {
  return {
    id,
    name: `app ${id}`,
    language: 'java',
    healthStatus: 'green',
    reporting: true,
    lastReportedAt: undefined,
    summary: undefined,
    endUserSummary: undefined,
    settings: undefined,
    alertPolicyId: undefined,
    hosts,
    instances: hosts,
  };
}
