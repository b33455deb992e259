import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { ROOT } from './ruleFiles.ts';

const texts = z.record(z.string(), z.string());
const metadata = z.strictObject({ name: z.string(), namespace: z.string().optional(), labels: texts.optional() });

const slothAlert = z.strictObject({
  annotations: texts.optional(),
  labels: texts.optional(),
  disable: z.boolean().optional(),
});

/** The custom resource PrometheusServiceLevel, as Sloth publishes its definition (sloth.slok.dev/v1). */
const sloth = z.strictObject({
  apiVersion: z.literal('sloth.slok.dev/v1'),
  kind: z.literal('PrometheusServiceLevel'),
  metadata,
  spec: z.strictObject({
    service: z.string(),
    labels: texts.optional(),
    slos: z
      .array(
        z.strictObject({
          name: z.string().max(128),
          description: z.string().optional(),
          objective: z.number().gt(0).max(100),
          labels: texts.optional(),
          sli: z.strictObject({ events: z.strictObject({ errorQuery: z.string(), totalQuery: z.string() }) }),
          alerting: z.strictObject({
            name: z.string(),
            labels: texts.optional(),
            annotations: texts.optional(),
            pageAlert: slothAlert.optional(),
            ticketAlert: slothAlert.optional(),
          }),
        }),
      )
      .min(1),
  }),
});

const metric = z.strictObject({ metric: z.string() });

/** The custom resource ServiceLevelObjective, as Pyrra publishes its definition (pyrra.dev/v1alpha1). */
const pyrra = z.strictObject({
  apiVersion: z.literal('pyrra.dev/v1alpha1'),
  kind: z.literal('ServiceLevelObjective'),
  metadata,
  spec: z.strictObject({
    description: z.string().optional(),
    target: z.string().regex(/^\d+(\.\d+)?$/),
    window: z.string().regex(/^\d+[dw]$/),
    indicator: z.strictObject({
      ratio: z.strictObject({ errors: metric, total: metric, grouping: z.array(z.string()).optional() }),
    }),
    alerting: z
      .strictObject({
        name: z.string().optional(),
        absent: z.boolean().optional(),
        absentName: z.string().optional(),
        burnrates: z.boolean().optional(),
        disabled: z.boolean().optional(),
      })
      .optional(),
  }),
});

function documents(name: string): unknown[] {
  const text = readFileSync(resolve(ROOT, 'monitoring/slo', name), 'utf8');
  return parseAllDocuments(text, { strict: true, uniqueKeys: true }).map((document) => document.toJS() as unknown);
}

export function slothObjectives(): z.infer<typeof sloth>[] {
  return documents('sloth.yaml').map((document) => sloth.parse(document));
}

export function pyrraObjectives(): z.infer<typeof pyrra>[] {
  return documents('pyrra.yaml').map((document) => pyrra.parse(document));
}

/** The expressions of the examples as those tools write them into rules, over 5 minutes: first what is bad, then all. */
export function exampleRatios(): { readonly name: string; readonly bad: string; readonly all: string }[] {
  const windowed = (query: string): string => query.replaceAll('{{.window}}', '5m');
  return [
    ...slothObjectives().flatMap(({ spec }) =>
      spec.slos.map(({ name, sli: { events } }) => ({
        name: `sloth ${name}`,
        bad: windowed(events.errorQuery),
        all: windowed(events.totalQuery),
      })),
    ),
    ...pyrraObjectives().map(({ metadata: { name }, spec: { indicator } }) => ({
      name: `pyrra ${name}`,
      bad: `sum(rate(${indicator.ratio.errors.metric}[5m]))`,
      all: `sum(rate(${indicator.ratio.total.metric}[5m]))`,
    })),
  ];
}
