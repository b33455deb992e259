import type { MetricSeries, TimeRange } from '../../api/reader.ts';

/** What was read of an application or a host over one chunk; also how it is written to disk. */
export interface ReadChunk extends MetricSeries, TimeRange {}
