import { bodyFailure, parseObject } from './answerBody.ts';
import { CallFailure } from './callFailure.ts';
import { decodeText } from './decode.ts';
import { errorTitle } from './errorTitle.ts';
import type { RawAnswer } from './exchange.ts';
import { joinedHeader } from './headers.ts';
import type { KeyMask } from './keyMask.ts';
import { announced } from './overload.ts';
import type { Overload } from '../reader.ts';
import { isGood, statusFailure } from './statusFailure.ts';

/** Of an error body, unpacked. */
const LONGEST_ERROR = 64 * 1024;

/** A good answer: its JSON object, the address that gave it, and its `Link` header. */
export interface Answer {
  readonly body: Readonly<Record<string, unknown>>;
  readonly address: URL;
  readonly link: string | undefined;
}

/** Finds the failure that the body of a good status reports, if any; `mask` hides the key in what it says. */
type Inspection = (body: Readonly<Record<string, unknown>>, status: number, mask: KeyMask) => CallFailure | undefined;

/** How the body of an answer is read and judged. */
export interface Reading {
  readonly inspect: Inspection;
  /** As `inspect`, of the text of another status: a failure that says more than the status does. */
  readonly inspectRefusal?: (text: string, status: number, mask: KeyMask) => CallFailure | undefined;
  /**
   * Where it is true of a text, the call ends only when the body was read, for it may report an overload. Otherwise, and
   * without it, the place of the call is given back as soon as the answer is there, and the next calls go out before it is
   * read.
   */
  readonly mayBeOverload?: (text: string) => boolean;
  /**
   * Whether a call that timed out is tried again. `patient`: for patient callers only, because it holds a place so long;
   * false: its caller asks for less instead.
   */
  readonly retryTimeouts: boolean | 'patient';
}

/** How answers to a GET are read: they report an overload by their status alone. */
export const GET: Reading = { inspect: bodyFailure, retryTimeouts: 'patient' };

/** An answer that has come in, and what was sent for it. */
export interface Sent {
  readonly address: URL;
  readonly raw: RawAnswer;
  readonly overload: Overload | undefined;
  /** Hides the key that was sent. */
  readonly mask: KeyMask;
}

/** Reads the bodies of answers. */
export class BodyReader {
  readonly #maxBytes: number;
  readonly #now: () => number;

  /**
   * @param maxBytes of a body, unpacked
   * @param now Unix milliseconds by the wall clock, which times in headers are compared with
   */
  constructor(maxBytes: number, now: () => number) {
    this.#maxBytes = maxBytes;
    this.#now = now;
  }

  /** The text of a good status. Throws the CallFailure that another status, and what its text says, stands for. */
  async textOf({ address, raw, overload, mask }: Sent, { inspectRefusal }: Reading): Promise<string> {
    if (isGood(raw.status)) return decodeText(raw, this.#maxBytes);
    const text = await decodeText(raw, LONGEST_ERROR).catch(() => '');
    throw inspectRefusal?.(text, raw.status, mask) ?? statusFailure(address, raw, errorTitle(text, mask), overload);
  }

  /** The answer in the text of a good status. Throws the CallFailure that its body reports. */
  parse({ address, raw, mask }: Sent, text: string, { inspect }: Reading): Answer {
    const body = parseObject(text, raw.status, mask);
    const failure = inspect(body, raw.status, mask);
    if (failure?.overload !== undefined) {
      const { reason, message, status } = failure;
      throw new CallFailure(reason, message, { status, overload: announced(raw.headers, this.#now()) });
    }
    if (failure !== undefined) throw failure;
    return { body, address, link: joinedHeader(raw.headers, 'link') };
  }
}
