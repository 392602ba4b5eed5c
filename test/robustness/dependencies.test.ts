/** Packages have exact versions and checksums, come from the npm registry, and are listed in the README. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { REPOSITORY } from '../support/process.ts';

type Versions = Readonly<Record<string, string>>;

const REGISTRY = 'https://registry.npmjs.org/';

interface Lock {
  readonly packages: Readonly<Record<string, { resolved?: string; integrity?: string }>>;
}

const read = (path: string) => readFileSync(join(REPOSITORY, path), 'utf8');
const manifest: Readonly<Record<string, Versions>> = JSON.parse(read('package.json'));

/** Returns the packages in the table with that heading. */
function listedUnder(heading: string): string[] {
  const [, table = ''] = read('README.md').split(`| ${heading} | What for |\n|---|---|\n`);
  const rows = /^(\|.*\n?)*/.exec(table)?.[0] ?? '';
  return [...rows.matchAll(/^\| `([^`]+)` \| (.*) ?\|$/gm)].map(([, name = '']) => name);
}

describe.each([
  ['dependencies', 'In production'],
  ['optionalDependencies', 'Optional'],
  ['devDependencies', 'In development'],
])('%s', (kind, heading) => {
  it('are listed in the README by name', () => {
    expect(listedUnder(heading)).toEqual(Object.keys(manifest[kind] ?? {}).sort());
  });

  it('have exact versions', () => {
    const versions = Object.entries(manifest[kind] ?? {});
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
  });
});

it('no other kind of dependency exists', () => {
  const kinds = Object.keys(manifest).filter((key) => /dependencies$/i.test(key));
  expect(kinds.sort()).toEqual(['dependencies', 'devDependencies', 'optionalDependencies']);
});

it('every package has a checksum and comes from the npm registry', () => {
  const { packages }: Lock = JSON.parse(read('package-lock.json'));
  const odd = Object.entries(packages).filter(
    ([path, { resolved, integrity }]) =>
      path !== '' && (!integrity?.startsWith('sha512-') || !(resolved ?? REGISTRY).startsWith(REGISTRY)),
  );
  expect(odd.map(([path]) => path)).toEqual([]);
});
