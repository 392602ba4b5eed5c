/** What `npm install` of the package brings. That it works there: `test/robustness/testing-package.test.ts`. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import manifest from '../../../package.json' with { type: 'json' };
import clientManifest from '../../../src/client/package.json' with { type: 'json' };
import { REPOSITORY } from '../../support/process.ts';

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly dependencies?: Readonly<Record<string, string>> }>>;
}

/** What the server and the client need. Two thirds are of passkeys and the log. */
test('npm installs 57 packages at most, apart from Postgres', async () => {
  const { packages }: LockFile = JSON.parse(await readFile(join(REPOSITORY, 'package-lock.json'), 'utf8'));
  const wanted = Object.keys({ ...manifest.dependencies, ...clientManifest.dependencies });
  const found = new Set<string>();
  for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    wanted.push(...Object.keys(packages[`node_modules/${name}`]?.dependencies ?? {}));
  }
  expect(found.size).toBeGreaterThan(20);
  expect(found.size).toBeLessThanOrEqual(57);
});
