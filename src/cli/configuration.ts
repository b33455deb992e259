import process from 'node:process';
import type { Logger } from 'pino';
import { existsSync } from 'node:fs';
import { createLogger } from '../log/logger.ts';
import { openStandardError } from '../log/output.ts';
import { Secrets } from '../log/secrets.ts';
import type { CommonOptions } from './flags.ts';
import type { Config } from '../config/config.ts';
import { formatDiagnostic, type Diagnostic } from '../config/diagnostic.ts';
import { chooseConfigPath, describeOrigin, readFrom } from '../config/load.ts';
import { loadWebConfig } from '../web/webConfig/webConfig.ts';
import { ExitStatus } from './process.ts';

/** Opens the log. It masks each secret in `secrets`, including secrets added later. */
export function openLog({ 'log.level': level, 'log.format': format }: CommonOptions) {
  const secrets = new Secrets();
  const destination = openStandardError((lines) =>
    logger.warn({ lines }, 'Lost log lines: the disk was full, or the reader of the log too slow'),
  );
  const logger = createLogger({ level, format, secrets, destination });
  return { logger, secrets, droppedLines: () => destination.dropped };
}

export function logIfFromEnvironment(logger: Logger, path: string | undefined): void {
  if (path === undefined) logger.info(describeOrigin(path));
}

export interface LoadedConfiguration {
  readonly path: string | undefined;
  readonly config: Config;
  readonly warnings: readonly Diagnostic[];
}

/** Reads the configuration, and checks the web configuration. Prints diagnostics, then rejects with ExitStatus 2. */
export async function loadOrExit(files: Parameters<typeof readFiles>[0]): Promise<LoadedConfiguration> {
  const { loaded, findings } = await readFiles(files);
  exitOnDiagnostics(findings);
  if (loaded === undefined) throw new ExitStatus(2);
  return loaded;
}

/** Prints diagnostics, and throws ExitStatus 2 if there are any. */
export function exitOnDiagnostics(findings: readonly { readonly diagnostics: readonly Diagnostic[] }[]): void {
  const diagnostics = findings.flatMap((found) => found.diagnostics);
  for (const diagnostic of diagnostics) process.stderr.write(`${formatDiagnostic(diagnostic)}\n`);
  if (diagnostics.length > 0) throw new ExitStatus(2);
}

/**
 * Reads all files that the flags name, so that the user sees all diagnostics at once. Without `configFile` it tries
 * config.yaml, then the environment. With `once` the configuration may be a pipe: the command never reloads.
 */
export async function readFiles(files: {
  readonly configFile: string | undefined;
  readonly webConfigFile?: string | undefined;
  readonly once: boolean;
}) {
  const path = chooseConfigPath(files.configFile, existsSync);
  const read = await readFrom(path, process.env, files.once);
  return {
    loaded: 'diagnostics' in read ? undefined : { path, ...read },
    findings: [
      { name: path ?? 'environment', diagnostics: [], warnings: [], ...read },
      ...readWebConfig(files.webConfigFile),
    ],
  };
}

export function readWebConfig(webConfigFile: string | undefined) {
  if (webConfigFile === undefined) return [];
  return [{ name: webConfigFile, diagnostics: [], warnings: [], ...loadWebConfig(webConfigFile) }];
}
