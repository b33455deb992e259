/**
 * The client library, imported here and nowhere else: its successor is `@prometheus-io/client`, which needs Node 22.
 * It counts and measures; the text is written by this folder, because the library's own writer renames a counter for
 * good once it was written as OpenMetrics, and does not know units, escaped quotes in HELP or canonical bucket bounds.
 */
export { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
