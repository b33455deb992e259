import type { RollingFigures } from './summary.ts';

/** Red and orange go by what users notice: failing requests and Apdex. Without an alert policy nothing is judged. */
export function health(
  reporting: boolean,
  hasPolicy: boolean,
  figures: RollingFigures | undefined,
): 'gray' | 'unknown' | 'green' | 'orange' | 'red' {
  if (!reporting) return 'gray';
  if (!hasPolicy) return 'unknown';
  if (figures === undefined || figures.throughput === 0) return 'green';
  if (figures.error_rate > 0.15 || figures.apdex_score < 0.5) return 'red';
  return figures.error_rate > 0.05 || figures.apdex_score < 0.7 ? 'orange' : 'green';
}
