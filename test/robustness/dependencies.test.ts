/** Every package is there for a reason, and the README says which. */
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

/** The packages of the table under that heading. */
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
  it('are those of the README, name by name', () => {
    expect(listedUnder(heading)).toEqual(Object.keys(manifest[kind] ?? {}).sort());
  });

  it('have exact versions', () => {
    const versions = Object.entries(manifest[kind] ?? {});
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
  });
});

it('there is no other kind of dependency', () => {
  const kinds = Object.keys(manifest).filter((key) => /dependencies$/i.test(key));
  expect(kinds.sort()).toEqual(['dependencies', 'devDependencies', 'optionalDependencies']);
});

it('every package has a checksum, and none comes from anywhere but the registry', () => {
  const { packages }: Lock = JSON.parse(read('package-lock.json'));
  const odd = Object.entries(packages).filter(
    ([path, { resolved, integrity }]) =>
      path !== '' && (!integrity?.startsWith('sha512-') || !(resolved ?? REGISTRY).startsWith(REGISTRY)),
  );
  expect(odd.map(([path]) => path)).toEqual([]);
});
