import type { CallOptions } from '../../api/reader.ts';
import { datastoreNames } from '../../formulas/names.ts';
import type { Scope } from '../../metrics/family.ts';
import { queryNames } from '../../metrics/window.ts';
import type { Labels } from '../../metrics/sample.ts';
import type { LiveAccount } from '../upstream/session.ts';
import type { ChunkSubject } from './readChunk.ts';
import type { Subject } from './state.ts';
import type { WorkFolder } from './workFolder.ts';

/** Database metrics all end in this; the whole name list would be large (contract 4, point 6). */
const DATABASE_NAME_FILTER = '/allWeb';

/** An application or a host whose series are made. */
export interface Entity {
  /** Its name among the files of its application. */
  readonly key: string;
  readonly scope: Scope;
  readonly ids: ChunkSubject;
  readonly labels: Labels;
}

/** What is read of an application before its data; also how it is written to disk. */
export interface Layout {
  readonly names: readonly string[];
  readonly entities: readonly Entity[];
}

/** The application and its hosts, and the metric names to ask for; from disk when an earlier run has read them. */
export async function readLayout(
  subject: Subject,
  { reader }: LiveAccount,
  call: CallOptions,
  folder: WorkFolder,
): Promise<Layout> {
  const file = `${folderOf(subject)}/layout.json`;
  // Only this function writes the file, and only whole.
  if (folder.has(file)) return (await folder.read(file)) as Layout;
  const list = await reader.listMetricNames({ applicationId: subject.id, name: DATABASE_NAME_FILTER }, call);
  const names = list.names.map(({ name }) => name).filter((name) => !/\p{Surrogate}/u.test(name));
  const hosts = subject.hosts ? await reader.listHosts(subject.id, call) : [];
  const layout: Layout = {
    names: queryNames(datastoreNames(names)),
    entities: [
      { key: 'application', scope: 'application', ids: { applicationId: subject.id }, labels: subject.labels },
      ...hosts.map(({ key, host }) => ({
        key: `host-${key}`,
        scope: 'host' as const,
        ids: { applicationId: subject.id, hostKey: key },
        labels: hostLabelsOf(subject, key, host),
      })),
    ],
  };
  await folder.write(file, layout);
  return layout;
}

/** The folder of an application inside the work folder; ids are unique only within an account. */
export function folderOf({ account, id }: Subject): string {
  return `${account}-${id}`;
}

/** Ours first, in the order of the running exporter, then the static ones. */
function hostLabelsOf({ labels }: Subject, key: string, host: string): Labels {
  const { account = '', app = '', app_id = '', ...others } = labels;
  return { account, app, app_id, host, host_id: key, ...others };
}
