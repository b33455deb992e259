import { z } from 'zod';

const securityContext = z
  .looseObject({
    runAsUser: z.number().optional(),
    fsGroup: z.number().optional(),
    privileged: z.boolean().optional(),
    allowPrivilegeEscalation: z.boolean().optional(),
    seccompProfile: z.object({ type: z.string() }).optional(),
    capabilities: z.object({ add: z.array(z.string()).default([]), drop: z.array(z.string()).default([]) }).optional(),
  })
  .optional();

/** What the SCC looks at in the specification of a pod. */
export const podSpec = z.looseObject({
  hostNetwork: z.boolean().optional(),
  hostPID: z.boolean().optional(),
  hostIPC: z.boolean().optional(),
  securityContext,
  containers: z.array(z.looseObject({ name: z.string(), securityContext })),
  volumes: z.array(z.looseObject({ name: z.string() })).default([]),
});
export type PodSpec = z.output<typeof podSpec>;

const VOLUMES = new Set([
  ...[
    'configMap',
    'csi',
    'downwardAPI',
    'emptyDir',
    'ephemeral',
    'image',
    'persistentVolumeClaim',
    'projected',
    'secret',
  ],
]);

/**
 * What OpenShift's SCC `restricted-v2` refuses of a pod: ids outside the range of its namespace, which no chart knows, rights,
 * and volumes of the node. Source: OpenShift Container Platform, "Managing security context constraints".
 */
export function refusals(pod: PodSpec): string[] {
  const host = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((name) => pod[name] === true);
  const volumes = pod.volumes
    .filter((volume) => Object.keys(volume).some((kind) => kind !== 'name' && !VOLUMES.has(kind)))
    .map(({ name }) => `volume ${name}`);
  const contexts = [
    ['pod', pod.securityContext] as const,
    ...pod.containers.map((each) => [each.name, each.securityContext] as const),
  ];
  const rights = contexts.flatMap(([name, context]) => {
    const { runAsUser, fsGroup, privileged, allowPrivilegeEscalation, seccompProfile, capabilities } = context ?? {};
    const found = [
      runAsUser !== undefined && 'runAsUser',
      fsGroup !== undefined && 'fsGroup',
      privileged === true && 'privileged',
      allowPrivilegeEscalation === true && 'allowPrivilegeEscalation',
      seccompProfile !== undefined && seccompProfile.type !== 'RuntimeDefault' && 'seccompProfile',
      capabilities?.add.some((each) => each !== 'NET_BIND_SERVICE') === true && 'capabilities',
    ];
    return found.filter((each) => each !== false).map((each) => `${name}: ${each}`);
  });
  return [...host, ...volumes, ...rights];
}
