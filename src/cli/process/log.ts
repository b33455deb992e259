import type { Logger } from 'pino';
import { createLogger } from '../../log/logger.ts';
import { Secrets } from '../../log/secrets.ts';
import type { LogOptions } from '../flags/commonFlags.ts';

/** The log of a command, and the secrets that it hides. */
export interface Log {
  readonly logger: Logger;
  readonly secrets: Secrets;
}

/** Opens the log as the flags ask for it; the secrets become known as keys are read. */
export function openLog({ 'log.level': level, 'log.format': format }: LogOptions): Log {
  const secrets = new Secrets();
  return { logger: createLogger({ level, format, secrets }), secrets };
}
