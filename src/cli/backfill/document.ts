import { bracedLabels, labelPairs } from '../../metrics/labelText.ts';
import { END_OF_ANSWER, metadata } from '../../exposition/metadata.ts';
import type { Labels, Family } from '../../metrics/sample.ts';
import type { EntitySeries } from './seriesTable.ts';

/** Lines that are put into one piece of text. */
const LINES_PER_PIECE = 1_000;

/** An application or host in the document, and how to get at its series. */
export interface DocumentEntity {
  readonly labels: Labels;
  readonly families: ReadonlySet<string>;
  read(family: string): Promise<readonly EntitySeries[]>;
}

/**
 * The OpenMetrics document in pieces: family by family, in a family series by series, in a series by time (seconds), as
 * the format asks for; `# EOF` at the end. One series of one entity is in memory at a time.
 */
export async function* documentText(
  families: readonly Family[],
  entities: readonly DocumentEntity[],
): AsyncGenerator<string, void, undefined> {
  for (const family of families) {
    const having = entities.filter((entity) => entity.families.has(family.name));
    if (having.length > 0) yield metadata(family, 'openmetrics');
    for (const entity of having) {
      const pairs = labelPairs(entity.labels);
      for (const series of await entity.read(family.name)) {
        yield* linesOf(family.name + bracedLabels([...pairs, ...labelPairs(series.labels)].join(',')), series);
      }
    }
  }
  yield END_OF_ANSWER;
}

function* linesOf(beginning: string, { times, values }: EntitySeries): Generator<string, void, undefined> {
  for (let start = 0; start < times.length; start += LINES_PER_PIECE) {
    const lines = times
      .slice(start, start + LINES_PER_PIECE)
      .map((time, index) => `${beginning}${values[start + index]} ${time}\n`);
    yield lines.join('');
  }
}
