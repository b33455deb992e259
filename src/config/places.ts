import type { LineCounter } from 'yaml';
import type { Fault, Path } from './fault.ts';
import { formatPath, showPath } from './fault.ts';

interface Place {
  /** Offset in the text of the key; undefined for the root and for list items. */
  readonly key: number | undefined;
  /** Offset in the text of the value. */
  readonly value: number;
  /** For an unquoted value with placeholders: the text it expanded to, before it was typed. */
  readonly text?: string;
  /** True when the reader has found it at fault: nothing further can be said about it. */
  readonly faulty?: boolean;
}

/** Where each value of a file stands; makes faults of messages. */
export class Places {
  readonly #file: string;
  readonly #lines: LineCounter;
  readonly #places = new Map<string, Place>();

  constructor(file: string, lines: LineCounter) {
    this.#file = file;
    this.#lines = lines;
  }

  set(path: Path, place: Place): void {
    this.#places.set(formatPath(path), place);
  }

  textAt(path: Path): string | undefined {
    return this.#places.get(formatPath(path))?.text;
  }

  /** True when the value, or one that holds it, is at fault already. */
  isFaulty(path: Path): boolean {
    return [[], ...path.map((_, index) => path.slice(0, index + 1))].some(
      (part) => this.#places.get(formatPath(part))?.faulty === true,
    );
  }

  /** A fault at a value, or at its key; where there is no such value, at the nearest one that should hold it. */
  fault(path: Path, message: string, at: 'key' | 'value'): Fault {
    for (let length = path.length; length >= 0; length -= 1) {
      const place = this.#places.get(formatPath(path.slice(0, length)));
      if (place === undefined) continue;
      const atKey = at === 'key' && length === path.length;
      return this.faultAt(atKey ? (place.key ?? place.value) : place.value, path, message);
    }
    return this.faultAt(0, path, message);
  }

  faultAt(offset: number, path: Path, message: string): Fault {
    const { line, col } = this.#lines.linePos(offset);
    return { file: this.#file, line: Math.max(line, 1), column: Math.max(col, 1), path: showPath(path), message };
  }
}
