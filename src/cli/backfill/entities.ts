import type { CallOptions, MetricDataSubject, TimeRange } from '../../api/reader.ts';
import type { Scope } from '../../metrics/family.ts';
import type { Labels } from '../../metrics/sample.ts';
import { queryNames } from '../../metrics/window.ts';
import { readOne } from '../upstream/reading.ts';
import type { LiveAccount } from '../upstream/session.ts';
import type { Subject } from './state.ts';
import type { WorkFolder } from './workFolder.ts';

/** An application or a host whose series are made. */
export interface Entity {
  /** Its name among the files of its application. */
  readonly key: string;
  readonly scope: Scope;
  readonly applicationId: number;
  readonly hostKey?: string;
  /** The metric names to ask for. */
  readonly names: readonly string[];
  readonly labels: Labels;
}

/** What is read of an application before its data; also how it is written to disk. */
export interface Layout {
  readonly entities: readonly Entity[];
}

/** The application and its hosts, with the metric names to ask for; from disk when an earlier run has read them. */
export async function readLayout(
  subject: Subject,
  range: TimeRange,
  { reader }: LiveAccount,
  call: CallOptions,
  folder: WorkFolder,
): Promise<Layout> {
  const file = `${folderOf(subject)}/layout.json`;
  // Only this function writes the file, and only whole.
  if (folder.has(file)) return (await folder.read(file)) as Layout;
  const applicationId = subject.id;
  const { datastores: names } = reader;
  const datastores = names === undefined ? [] : await readOne(names, { applicationId }, range, call);
  const hosts = subject.hosts ? await readOne(reader.hosts, { applicationId }, range, call) : [];
  const namesOf = (scope: Scope): string[] => queryNames(datastores, scope, reader.api);
  const layout: Layout = {
    entities: [
      {
        key: 'application',
        scope: 'application',
        applicationId,
        names: namesOf('application'),
        labels: subject.labels,
      },
      // By place: the name of a host may hold anything, and a file name may not.
      ...hosts.map(({ key, host }, place) => ({
        key: `host-${place}`,
        scope: 'host' as const,
        applicationId,
        hostKey: key,
        names: namesOf('host'),
        labels: hostLabelsOf(subject, key, host),
      })),
    ],
  };
  await folder.write(file, layout);
  return layout;
}

export function subjectOf({ applicationId, hostKey, names }: Entity): MetricDataSubject {
  return { applicationId, hostKey, names };
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
