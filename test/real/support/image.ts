import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { runCommand, type Finished } from './processes.ts';
import type { RealProgram } from './realPrograms.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
/** The base of the Dockerfile, for which a stand-in is made. */
const BASE = 'docker.io/library/node:24-bookworm-slim';
/** What the programs of the base and of its users need, as in Debian's own slim image. */
const PACKAGES = 'base-files,base-passwd,bash,coreutils,dash,libc-bin,libstdc++6,util-linux';
/** The authorities of this machine: packages come through them. */
const AUTHORITIES = '/etc/ssl/certs';

/** A file system in memory. Here npm writes its 20,000 small files faster. */
const MEMORY = '/dev/shm';
/** Free bytes that it must have: twice what the layers of the image take. */
const ROOM = 3e9;

function hasRoomInMemory(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize > ROOM;
}

/** What an image says of itself. */
const IMAGE = z.object({
  Docker: z.object({
    config: z.object({
      User: z.string(),
      Env: z.array(z.string()),
      ExposedPorts: z.record(z.string(), z.unknown()),
      Entrypoint: z.array(z.string()),
      Cmd: z.array(z.string()).nullish(),
      WorkingDir: z.string(),
      Labels: z.record(z.string(), z.string()),
      Healthcheck: z.object({ Test: z.array(z.string()) }),
    }),
  }),
});

export interface Image {
  readonly config: z.output<typeof IMAGE>['Docker']['config'];
  /** The unpacked file system of a container made of it. */
  readonly root: string;
  /** Removes everything that was made. */
  remove(): Promise<void>;
}

interface Builders {
  readonly buildah: RealProgram;
  readonly mmdebstrap: RealProgram;
  readonly node: RealProgram;
}

/**
 * Builds the image of this repository from its Dockerfile, without an engine: over a stand-in for the base image, which is
 * made of Debian's packages, of Node.js, and of the npm that is here. Nothing of this machine is changed.
 */
export async function buildImage(programs: Builders, args: Readonly<Record<string, string>>): Promise<Image> {
  const work = mkdtempSync(join(hasRoomInMemory() ? MEMORY : tmpdir(), 'image-'));
  const storage = ['--storage-driver=vfs', `--root=${join(work, 'storage')}`, `--runroot=${join(work, 'run')}`];
  const buildah = (...words: readonly string[]): Promise<string> =>
    output([...programs.buildah.command, ...storage, ...words], ROOT);
  try {
    await makeBase(work, programs);
    await buildah('build', '--isolation=chroot', '--quiet', `--tag=${BASE}`, join(work, 'base'));
    const npmrc = join(work, 'npmrc');
    // `npm ci` of this checkout has just asked the registry for what is in the cache.
    writeFileSync(npmrc, `cafile=${AUTHORITIES}/ca-certificates.crt\ncache=/npm-cache\nprefer-offline=true\n`);
    const cache = (await output(['npm', 'config', 'get', 'cache'], ROOT)).trim();
    const mounts = [`${AUTHORITIES}:${AUTHORITIES}:ro`, `${npmrc}:/root/.npmrc:ro`, `${cache}:/npm-cache:rw`];
    await buildah(
      'build',
      '--isolation=chroot',
      '--pull-never',
      '--format=docker',
      ...mounts.map((mount) => `--volume=${mount}`),
      ...Object.entries(args).map(([name, value]) => `--build-arg=${name}=${value}`),
      '--tag=newrelic-apm-exporter',
      '.',
    );
    const description: unknown = JSON.parse(await buildah('inspect', '--type=image', 'newrelic-apm-exporter'));
    const { config } = IMAGE.parse(description).Docker;
    const container = (await buildah('from', '--pull-never', 'newrelic-apm-exporter')).trim();
    const root = (await buildah('mount', container)).trim();
    const remove = async (): Promise<void> => {
      await buildah('umount', container);
      rmSync(work, { recursive: true, force: true });
    };
    return { config, root, remove };
  } catch (error) {
    rmSync(work, { recursive: true, force: true });
    throw error;
  }
}

/** A folder with a Dockerfile that gives an image of the base's name, with the tools that the base has. */
async function makeBase(work: string, { mmdebstrap, node }: Builders): Promise<void> {
  const folder = join(work, 'base');
  const root = join(folder, 'root');
  const debian = ['--quiet', '--variant=extract', `--include=${PACKAGES}`, 'bookworm', root];
  mkdirSync(folder, { recursive: true });
  await output([...mmdebstrap.command, ...debian], work);
  const bin = join(root, 'usr/local/bin');
  const modules = join(root, 'usr/local/lib/node_modules');
  cpSync(node.path, join(bin, 'node'));
  cpSync(join((await output(['npm', 'root', '--global'], work)).trim(), 'npm'), join(modules, 'npm'), {
    recursive: true,
  });
  for (const tool of ['npm', 'npx']) symlinkSync(`../lib/node_modules/npm/bin/${tool}-cli.js`, join(bin, tool));
  // The base has these, too. They do nothing here, and have to be gone in the end.
  const others = {
    'corepack/dist': ['corepack.js', 'corepack'],
    '../../../../opt/yarn-v1.22.22/bin': ['yarn.js', 'yarn'],
  };
  for (const [path, [file = '', tool = '']] of Object.entries(others)) {
    mkdirSync(join(modules, path), { recursive: true });
    writeFileSync(join(modules, path, file), '');
    symlinkSync(join('../lib/node_modules', path, file), join(bin, tool));
  }
  symlinkSync('yarn', join(bin, 'yarnpkg'));
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0::/root:/bin/bash\nnode:x:1000:1000::/home/node:/bin/bash\n');
  const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  writeFileSync(join(folder, 'Dockerfile'), `FROM scratch\nCOPY root /\nENV PATH=${path}\n`);
}

/** A running container of an image. */
export interface Container {
  /** Everything its program has written so far. */
  output(): string;
  /** Runs a command in it as the image's user, as an engine runs a health check. */
  exec(command: readonly string[], limit?: number): Promise<Finished>;
  /** Asks the program to end, and gives its exit status; what else runs in the container ends with it. */
  stop(): Promise<number | null>;
}

/**
 * Prepares the surroundings that an engine gives with `--read-only --cap-drop=ALL --security-opt=no-new-privileges
 * -v CONFIG:...:ro`, in namespaces of its own: a network with nothing but loopback, processes, mounts.
 */
const SURROUNDINGS = `
set -e
root=$1 config=$2 mounted=$3 ip=$4
shift 4
mount --make-rprivate /
"$ip" link set lo up
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind "$config" "$root$mounted"
mount -o remount,bind,ro "$root$mounted"
mount -o remount,bind,ro "$root"
cd "$root"
exec chroot "$root" "$@"
`;

const AS_USER = ['--clear-groups', '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all'];

/** Starts the program of an image with arguments; `folder` is mounted where the program looks for its configuration. */
export function runImage(image: Image, ip: RealProgram, folder: string, args: readonly string[]): Container {
  const { Env, User, Entrypoint, WorkingDir } = image.config;
  const [user = '', group = ''] = User.split(':');
  const inside = (command: readonly string[]): string[] => [
    'env',
    '--ignore-environment',
    `--chdir=${WorkingDir}`,
    ...Env,
    'setpriv',
    `--reuid=${user}`,
    `--regid=${group}`,
    ...AS_USER,
    ...command,
  ];
  const namespaces = ['--mount', '--net', '--pid', '--fork', '--kill-child'];
  const surroundings = ['sh', '-c', SURROUNDINGS, 'sh', image.root, folder, WorkingDir, ip.path];
  const child = spawn('unshare', [...namespaces, ...surroundings, ...inside([...Entrypoint, ...args])], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let written = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (written += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (written += text));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  // `unshare` has one child: the first process of the container, under any name.
  const first = (): number => Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8'));
  return {
    output: () => written,
    exec: (command, limit = 60_000) => {
      const target = [`--target=${first()}`, '--mount', '--net', '--pid', '--root', '--wd'];
      return runCommand(['nsenter', ...target, ...inside(command)], { limit });
    },
    stop: async () => {
      if (child.exitCode === null) process.kill(first(), 'SIGTERM');
      const kill = setTimeout(() => child.kill('SIGKILL'), 60_000);
      const status = await ended;
      clearTimeout(kill);
      return status;
    },
  };
}

async function output(command: readonly [string, ...string[]], cwd: string): Promise<string> {
  const { status, stdout, stderr } = await runCommand(command, { cwd, limit: 300_000 });
  if (status === 0) return stdout;
  throw new Error(`${command.join(' ')} ended with status ${status}: ${stderr}${stdout}`.slice(-4000));
}
