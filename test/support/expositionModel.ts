/** One line of an exposition, with its value and labels unescaped. */
export interface ParsedSample {
  /** As written, with `_total`, `_bucket` and the like. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** As written; undefined where there is none. */
  readonly timestamp: number | undefined;
}

/** A family as its metadata lines name it: in OpenMetrics a counter has no `_total` here. */
export interface ParsedFamily {
  readonly name: string;
  readonly type: string;
  readonly help: string | undefined;
  readonly unit: string | undefined;
  readonly samples: readonly ParsedSample[];
}

/** A deviation from the format, with the line it is in. */
export class FormatError extends Error {
  override readonly name = 'FormatError';

  constructor(problem: string, line: number, text: string) {
    super(`line ${line}: ${problem}: ${text}`);
  }
}

/** All samples of that name which have at least these labels. */
export function samplesOf(
  families: readonly ParsedFamily[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): readonly ParsedSample[] {
  return families
    .flatMap(({ samples }) => samples)
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([label, wanted]) => sample.labels[label] === wanted));
}

/** The value of the one sample of that name with at least these labels; undefined without one, an error with several. */
export function value(
  families: readonly ParsedFamily[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const found = samplesOf(families, name, labels);
  if (found.length > 1) throw new Error(`${found.length} samples of ${name} have the labels ${JSON.stringify(labels)}`);
  return found[0]?.value;
}

/** The body as text; bytes that are no UTF-8 are an error. */
export function decoded(body: string | Uint8Array): string {
  return typeof body === 'string' ? body : new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
}
