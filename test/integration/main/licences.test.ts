import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { REPOSITORY } from '../../support/process.ts';

/** Licences that ask for no more than their notice, which the packages carry. */
const PERMISSIVE = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
  'PostgreSQL',
  'Unlicense',
];

interface LockedPackage {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly license?: string;
}

test('every package in production has a permissive licence', () => {
  const { packages }: { packages: Record<string, LockedPackage> } = JSON.parse(
    readFileSync(join(REPOSITORY, 'package-lock.json'), 'utf8'),
  );
  const production = Object.entries(packages).filter(([name, { dev, devOptional }]) => name && !dev && !devOptional);
  expect(production.length).toBeGreaterThan(10);
  const isPermissive = (license: string) => license.split(' AND ').every((part) => PERMISSIVE.includes(part));
  const others = production.filter(([, { license = '' }]) => !isPermissive(license.replace(/[()]/g, '')));
  expect(others.map(([name, { license }]) => `${name}: ${license}`)).toEqual([]);
});
