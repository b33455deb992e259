import { Option, type Command } from 'commander';
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from '../../log/logger.ts';

/** The flags of the log, as commander gives them. */
export interface LogOptions {
  readonly 'log.level': LogLevel;
  readonly 'log.format': LogFormat;
}

/** The flags that every command but `simulate` takes, as commander gives them. */
export interface CommonOptions extends LogOptions {
  readonly 'config.file'?: string;
}

const CONFIG_FILE = 'configuration file (default: config.yaml, or the environment without one)';

/** Adds the flags that every command takes: which configuration, and how to log. */
export function addCommonFlags(command: Command, aboutConfigFile = CONFIG_FILE): Command {
  return command
    .option('--config.file <path>', aboutConfigFile)
    .addOption(
      new Option('--log.level <level>', 'least severe level that is logged').choices(LOG_LEVELS).default('info'),
    )
    .addOption(new Option('--log.format <format>', 'how log lines are written').choices(LOG_FORMATS).default('logfmt'));
}

/** The flag `--format`; the first choice is the default. */
export function formatFlag(choices: readonly string[]): Option {
  return new Option('--format <format>', 'how the result is written').choices(choices).default(choices[0]);
}
