import type { EntityReader, GoldenSubject } from '../../../src/api/upstreamReader.ts';
import { readDefinition } from '../../../src/nrql/goldenMetric.ts';
import type { Between } from './proxy.ts';

export const SERVICE = 'EXT-SERVICE';

export const entitiesOf = ({ reader }: Between): EntityReader => reader.entities!;

/** All entities of a type that report, with what is read of them; equal sources are one object. */
export async function subjectsOf(between: Between, type: string): Promise<GoldenSubject[]> {
  const listed = await entitiesOf(between).list(type, between.call);
  const sources = new Map<string, GoldenSubject['columns'][number]['source']>();
  const columns = new Map<unknown, GoldenSubject['columns']>();
  return listed
    .filter(({ reporting }) => reporting)
    .map(({ guid, metrics }) => {
      const known = columns.get(metrics);
      const columnsOfEntity =
        known ??
        metrics.map(({ name, definition }) => {
          const { source, select } = readDefinition(definition);
          const key = JSON.stringify(source);
          sources.set(key, sources.get(key) ?? source);
          return { name, select, source: sources.get(key)! };
        });
      columns.set(metrics, columnsOfEntity);
      return { type, guid, columns: columnsOfEntity, window: undefined, endsBefore: 0 };
    });
}

/** The services whose golden metrics are of timeslices, and have equal definitions. */
export async function servicesOf(between: Between): Promise<GoldenSubject[]> {
  return (await subjectsOf(between, SERVICE)).filter(({ columns }) => columns[0]?.source.isOfTimeslices);
}
