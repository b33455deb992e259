import { fileSchema } from '../../src/config/schema/file.ts';
import { toInputSchema } from '../../src/config/schemaIssues.ts';
import { configurationPage } from './configurationPage.ts';
import { editorSchema } from './editorSchema.ts';
import { exampleFile } from './exampleFile.ts';
import { formatted, type GeneratedFile } from './generatedFile.ts';

/** The files that the schema of the configuration generates. */
export const configurationFiles: readonly GeneratedFile[] = [
  {
    path: 'docs/configuration.md',
    content: () => formatted('docs/configuration.md', configurationPage(toInputSchema(fileSchema))),
  },
  {
    path: 'docs/configuration.schema.json',
    content: () => Promise.resolve(`${JSON.stringify(editorSchema(toInputSchema(fileSchema)), null, 2)}\n`),
  },
  {
    path: 'config.example.yaml',
    content: () => formatted('config.example.yaml', exampleFile(toInputSchema(fileSchema))),
  },
];
