import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/*
 * The build bundles every library into `dist`, so npm takes libraries for development tools: `npm audit --omit=dev`
 * checks nothing. This script audits all packages, and judges the packages in the bill of materials of `dist`.
 *
 * Exits with 0 if no such package has a known weakness, 1 if one has, and 2 if the registry does not answer.
 */

const ROOT = fileURLToPath(new URL('../', import.meta.url));

const BILL = z.object({
  components: z.array(z.object({ group: z.string().optional(), name: z.string(), version: z.string() })),
});
const LOCK = z.object({ packages: z.record(z.string(), z.object({ version: z.string().optional() })) });
const ADVISORY = z.object({ title: z.string(), url: z.string(), severity: z.string() });
const REPORT = z.object({
  vulnerabilities: z.record(
    z.string(),
    z.object({ via: z.array(z.union([z.string(), ADVISORY])), nodes: z.array(z.string()) }),
  ),
});

const read = (path: string): unknown => JSON.parse(readFileSync(`${ROOT}${path}`, 'utf8'));
const builtIn = new Set(
  BILL.parse(read('dist/sbom.cdx.json')).components.map(({ group, name, version }) =>
    group === undefined ? `${name}@${version}` : `${group}/${name}@${version}`,
  ),
);
const { packages } = LOCK.parse(read('package-lock.json'));

const { stdout } = spawnSync('npm', ['audit', '--json'], { cwd: ROOT, encoding: 'utf8', timeout: 120_000 });
const report = REPORT.safeParse(parsed(stdout));
const refusal = z.object({ message: z.string() }).safeParse(parsed(stdout));
if (report.success) {
  const found = Object.entries(report.data.vulnerabilities).map(([name, { via, nodes }]) => ({
    name,
    releases: nodes.map((node) => `${name}@${packages[node]?.version ?? ''}`),
    // A string names another package. The entry of that package has the advisory.
    advisories: via.filter((each) => typeof each !== 'string'),
  }));
  const inside = found.filter(({ releases }) => releases.some((release) => builtIn.has(release)));
  for (const { releases, advisories } of inside) {
    const words = advisories.map(({ severity, title, url }) => `${severity}: ${title} (${url})`);
    console.log(`${releases.join(', ')} is built in. ${words.join('; ') || 'A package that it needs has a weakness.'}`);
  }
  const tools = found.length - inside.length;
  console.log(`Of ${builtIn.size} packages in dist, ${inside.length} have a known weakness; ${tools} tools have one.`);
  process.exitCode = inside.length > 0 ? 1 : 0;
} else {
  // Cuts the address of the registry, which follows a dash.
  const words = refusal.success ? refusal.data.message.replace(/ - .*/, '') : 'npm gave no report';
  console.log(`The audit says nothing: the registry would not answer (${words}).`);
  process.exitCode = 2;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
