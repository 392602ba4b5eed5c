/** Packages have exact versions and checksums, and come from the npm registry. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { REPOSITORY } from '../support/process.ts';

const REGISTRY = 'https://registry.npmjs.org/';

interface LockedPackage {
  readonly resolved?: string;
  readonly integrity?: string;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
}

interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

const read = (path: string) => readFileSync(join(REPOSITORY, path), 'utf8');

describe.each(['', 'test/'])('of %spackage.json', (folder) => {
  const manifest: Readonly<Record<string, Readonly<Record<string, string>>>> = JSON.parse(
    read(`${folder}package.json`),
  );
  const kinds = Object.keys(manifest).filter((key) => /dependencies$/i.test(key));
  const versions = kinds.flatMap((kind) => Object.entries(manifest[kind] ?? {}));

  it('every version is exact', () => {
    expect(versions.length).toBeGreaterThan(10);
    expect(versions.filter(([, version]) => !/^(npm:[\w@/-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
  });

  it('every package has a checksum and comes from the npm registry', () => {
    const { packages }: Lock = JSON.parse(read(`${folder}package-lock.json`));
    const odd = Object.entries(packages).filter(
      ([path, { resolved, integrity }]) =>
        path !== '' && (!integrity?.startsWith('sha512-') || !(resolved ?? REGISTRY).startsWith(REGISTRY)),
    );
    expect(odd.map(([path]) => path)).toEqual([]);
  });
});

it('npm ci installs at most 400 packages', () => {
  const { packages }: Lock = JSON.parse(read('package-lock.json'));
  const here = Object.entries(packages).filter(
    ([path, { os = ['linux'], cpu = ['x64'], libc = ['glibc'] }]) =>
      path !== '' && os.includes('linux') && cpu.includes('x64') && libc.includes('glibc'),
  );
  expect(here.length).toBeGreaterThan(100);
  expect(here.length).toBeLessThanOrEqual(400);
});
