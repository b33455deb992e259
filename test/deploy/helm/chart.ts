import { join, resolve } from 'node:path';
import { expect } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { ROOT } from '../../monitoring/ruleFiles.ts';
import { runCommand } from '../../real/support/processes.ts';
import type { RealProgram } from '../../real/support/realPrograms.ts';

export const NAME = 'newrelic-apm-exporter';
export const CHART = join(ROOT, 'deploy/helm');

/** Without these the chart refuses to install. */
export const NEEDED = {
  image: { repository: 'registry.example.com/newrelic-apm-exporter' },
  keys: { existingSecret: 'new-relic' },
};

export const objectOf = z.record(z.string(), z.unknown());
const resource = z.looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string() }) });
export type Resource = z.output<typeof resource>;

/** Renders the chart with the program beside this file, which is built into a folder of the test. */
export class Renderer {
  readonly #folder: string;
  /** Documents by their texts: the rules are large, and the same for most values. */
  readonly #parsed = new Map<string, Resource[]>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async build(go: RealProgram): Promise<void> {
    const source = resolve(import.meta.dirname, 'render.go');
    const env = { GO111MODULE: 'off', GOPATH: '/usr/share/gocode', GOFLAGS: '' };
    const args = ['build', '-o', join(this.#folder, 'render'), source] as const;
    const { status, stderr } = await runCommand([...go.command, ...args], { env, limit: 600_000 });
    expect([status, stderr]).toEqual([0, '']);
  }

  /** What the chart gives for these values; throws the words of a template that refuses them. */
  async render(values: unknown, chart = CHART): Promise<Resource[]> {
    const input = JSON.stringify(values);
    const command = [join(this.#folder, 'render'), chart, NAME, 'monitored'] as const;
    const { status, stdout, stderr } = await runCommand(command, { input });
    if (status !== 0) throw new Error(stderr);
    return stdout.split(/^(?=---$)/m).flatMap((text) => {
      const found = this.#parsed.get(text) ?? documents(text);
      this.#parsed.set(text, found);
      return found;
    });
  }
}

export function documents(text: string): Resource[] {
  const all = parseAllDocuments(text, { version: '1.1' }).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS() as unknown;
  });
  return all.filter((each) => each !== null).map((each) => resource.parse(each));
}

export function ofKind(resources: readonly Resource[], kind: string): Resource[] {
  return resources.filter((each) => each.kind === kind);
}
