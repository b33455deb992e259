import type { Application } from '../../../src/api/types.ts';
import { readOne } from '../../../src/tools/upstream/readForCommand.ts';
import type { LiveAccount } from '../../../src/tools/upstream/session.ts';
import { addBraces, writeLabelPairs } from '../../../src/metrics/writeSamples.ts';
import { databaseKind } from '../../../src/formulas/derivedValues.ts';
import { applicationLabels, hostLabels } from '../../../src/metrics/listedFamilies.ts';
import type { Labels, Sample } from '../../../src/metrics/family.ts';
import { queryNames, windowSamples } from '../../../src/metrics/windowFamilies.ts';

/**
 * What the running exporter publishes for one application and its hosts over the window that ends at `time`, from
 * summarized calls; the database kind is decided over `range`. Values by series as written.
 */
export async function publishedAt(
  { reader, call, config }: LiveAccount,
  application: Application,
  { time, window, range }: { readonly time: number; readonly window: number; readonly range: [number, number] },
): Promise<Map<string, number>> {
  const applicationId = application.id;
  const ofTime = { from: time - window, to: time };
  const datastores =
    reader.datastores === undefined ? [] : await readOne(reader.datastores, { applicationId }, ofTime, call);
  const read = async (from: number, to: number, hostKey?: string) => {
    const names = queryNames(datastores, hostKey === undefined ? 'application' : 'host', reader.api);
    const subject = { applicationId, hostKey, metrics: { names } };
    const response = await readOne(reader.metricData, subject, { from, to }, call);
    return { seconds: response.window.to - response.window.from, metrics: response.metrics };
  };
  const database = databaseKind(await read(...range), application.language, 'auto');
  const published = new Map<string, number>();
  const add = (labels: Labels, samples: readonly Sample[]): void => {
    for (const sample of samples) {
      const pairs = [...writeLabelPairs(labels), ...writeLabelPairs(sample.labels ?? {})];
      published.set(sample.family.name + addBraces(pairs.join(',')).trimEnd(), sample.value);
    }
  };
  const labels = applicationLabels(config, application);
  add(labels, windowSamples('application', await read(time - window, time), database));
  for (const host of await readOne(reader.hosts, { applicationId }, ofTime, call)) {
    const values = await read(time - window, time, host.key);
    add(hostLabels(config, application, host), windowSamples('host', values, database));
  }
  return published;
}
