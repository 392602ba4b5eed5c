/** Packages have exact versions and checksums, come from the npm registry, and are listed in CONTRIBUTING.md. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { REPOSITORY } from '../support/process.ts';

const REGISTRY = 'https://registry.npmjs.org/';

interface Lock {
  readonly packages: Readonly<Record<string, { resolved?: string; integrity?: string }>>;
}

const read = (path: string) => readFileSync(join(REPOSITORY, path), 'utf8');
const manifest: Readonly<Record<string, Readonly<Record<string, string>>>> = JSON.parse(read('package.json'));
const kinds = Object.keys(manifest).filter((key) => /dependencies$/i.test(key));
const versions = kinds.flatMap((kind) => Object.entries(manifest[kind] ?? {}));

it('CONTRIBUTING.md lists every package and no other', () => {
  const [, listed = ''] = read('CONTRIBUTING.md').split('| In production | What for |');
  const names = [...listed.matchAll(/^\| `([^`]+)` \| .*\|$/gm)].map(([, name = '']) => name);
  expect(names.sort()).toEqual(versions.map(([name]) => name).sort());
});

it('every version is exact', () => {
  expect(versions.filter(([, version]) => !/^(npm:[\w@/-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
});

it('every package has a checksum and comes from the npm registry', () => {
  const { packages }: Lock = JSON.parse(read('package-lock.json'));
  const odd = Object.entries(packages).filter(
    ([path, { resolved, integrity }]) =>
      path !== '' && (!integrity?.startsWith('sha512-') || !(resolved ?? REGISTRY).startsWith(REGISTRY)),
  );
  expect(odd.map(([path]) => path)).toEqual([]);
});
