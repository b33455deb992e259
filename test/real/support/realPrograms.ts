import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { onPath, unpackedDebianPackages } from './debianPackages.ts';
import { runCommand } from './processes.ts';
import { SKIP_MARK } from './skipMark.ts';

/** Where each program may be found: a variable that names it, names on PATH, names inside Debian's packages. */
const TOOLS = {
  prometheus: { variable: 'PROMETHEUS', names: ['prometheus'], packaged: true },
  promtool: { variable: 'PROMTOOL', names: ['promtool'], packaged: true },
  alertmanager: { variable: 'ALERTMANAGER', names: ['prometheus-alertmanager', 'alertmanager'], packaged: true },
  amtool: { variable: 'AMTOOL', names: ['amtool'], packaged: true },
  'systemd-analyze': { variable: 'SYSTEMD_ANALYZE', names: ['systemd-analyze'], packaged: false },
} as const;

export type Tool = keyof typeof TOOLS;

export interface RealProgram {
  readonly tool: Tool;
  readonly path: string;
  readonly version: string;
  /** In words: a variable, PATH, or Debian's packages. */
  readonly source: string;
  /** What to execute, before the arguments; more than the path where the program needs a prepared surrounding. */
  readonly command: readonly [string, ...string[]];
}

type Found = { readonly program: RealProgram } | { readonly problem: string };

const resolved = new Map<Tool, Promise<Found>>();

/**
 * Finds a real program: its variable, PATH, then Debian's packages (downloaded once into the cache folder).
 * Rejects when a program is there but does not start: that is a fault, not an absence.
 */
export function findProgram(tool: Tool): Promise<Found> {
  const known = resolved.get(tool) ?? announce(tool);
  resolved.set(tool, known);
  return known;
}

/**
 * A suite that needs real programs. With all of them found its tests run; otherwise they are skipped under a name that
 * says why, or, with REQUIRE_REAL=1, fail. To be awaited at the top level of a test file; `program` is for use inside
 * tests and hooks.
 */
export async function describeReal<T extends Tool>(
  name: string,
  tools: readonly T[],
  define: (program: (tool: T) => RealProgram) => void,
): Promise<void> {
  const found = await Promise.all(tools.map(async (tool) => [tool, await findProgram(tool)] as const));
  const programs = new Map(found.flatMap(([tool, result]) => ('program' in result ? [[tool, result.program]] : [])));
  const problems = found.flatMap(([, result]) => ('problem' in result ? [result.problem] : []));
  const program = (tool: T): RealProgram => {
    const result = programs.get(tool);
    if (result === undefined) throw new Error(problems.join('; '));
    return result;
  };
  if (problems.length === 0) {
    describe(name, () => define(program));
  } else if (process.env['REQUIRE_REAL'] === '1') {
    describe(name, () => {
      test(`needs ${tools.join(', ')}`, () => {
        throw new Error(`REQUIRE_REAL=1, but ${problems.join('; ')}`);
      });
    });
  } else {
    process.stderr.write(`real-program tests: "${name}" is skipped: ${problems.join('; ')}\n`);
    describe.skip(`${name} [${SKIP_MARK}${problems.join('; ')}]`, () => define(program));
  }
}

async function announce(tool: Tool): Promise<Found> {
  const result = await locate(tool);
  if ('program' in result) {
    const { path, version, source } = result.program;
    process.stderr.write(`real program ${tool}: ${path} (${version}, from ${source})\n`);
  }
  return result;
}

async function locate(tool: Tool): Promise<Found> {
  const { variable, names, packaged } = TOOLS[tool];
  const named = process.env[variable];
  if (named !== undefined && named !== '') return start(tool, named, `the variable ${variable}`);
  const installed = names.map(onPath).find((path) => path !== undefined);
  if (installed !== undefined) return start(tool, installed, 'PATH');
  const tried = `${tool} was not found (tried the variable ${variable}; PATH for ${names.join(', ')}`;
  if (!packaged) return { problem: `${tried})` };
  const packages = await unpackedDebianPackages();
  if ('problem' in packages) return { problem: `${tried}; Debian's packages: ${packages.problem})` };
  const unpacked = names.map((name) => join(packages.folder, 'usr/bin', name)).find((path) => existsSync(path));
  if (unpacked === undefined) return { problem: `${tried}; Debian's packages: no such file in them)` };
  return start(tool, unpacked, "Debian's packages");
}

async function start(tool: Tool, path: string, source: string): Promise<Found> {
  const version = await versionOf([path]);
  if (tool !== 'alertmanager') return { program: { tool, path, version, source, command: [path] } };
  const command = await withTemplate(path);
  if (command !== undefined) return { program: { tool, path, version, source, command } };
  return {
    problem:
      `alertmanager at ${path} cannot run: it reads ${TEMPLATE}, which is not installed, and neither user nor mount ` +
      'namespaces (unshare) are allowed here to show it the unpacked one',
  };
}

async function versionOf(command: readonly [string, ...string[]]): Promise<string> {
  const { status, stdout, stderr } = await runCommand([...command, '--version'], { limit: 10_000 });
  if (status !== 0) throw new Error(`${command.join(' ')} --version ended with status ${status}: ${stderr}`);
  const words = `${stdout}${stderr}`;
  return /\bversion (\S+)/.exec(words)?.[1] ?? words.split('\n')[0] ?? '';
}

const TEMPLATE = '/usr/share/prometheus/alertmanager/default.tmpl';

/**
 * Debian compiles an absolute template path into Alertmanager. Where only the unpacked package has that file, the
 * program runs in a mount namespace of its own in which it is at its place; nothing outside is changed.
 */
async function withTemplate(path: string): Promise<RealProgram['command'] | undefined> {
  const share = join(path, '../../share');
  if (existsSync(TEMPLATE) || !existsSync(join(share, 'prometheus/alertmanager/default.tmpl'))) return [path];
  const overlay = 'mount -t overlay overlay -o "lowerdir=$0:/usr/share" /usr/share';
  const script = `{ ${overlay} || mount --bind "$0" /usr/share; } && exec "$@"`;
  for (const flags of ['-rm', '-m']) {
    const command = ['unshare', flags, 'sh', '-c', script, share, path] as const;
    const works = await versionOf([...command]).catch(() => undefined);
    if (works !== undefined) return command;
  }
  return undefined;
}
