import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PgTable } from 'drizzle-orm/pg-core';
import { expect, test } from 'vitest';
import drizzleConfig from '../../../drizzle.config.ts';
import { DELIVERY_STATUSES } from '../../../src/domain/webhooks/delivery.ts';
import { drawTables } from '../../support/draw-tables.ts';
import { REPOSITORY } from '../../support/process.ts';

test('the README of the database has a picture of the tables of the schema', async () => {
  const modules = await Promise.all([drizzleConfig.schema ?? []].flat().map((file) => import(join(REPOSITORY, file))));
  const tables = modules.flatMap((module) => Object.values(module)).filter((value) => value instanceof PgTable);
  expect(readPictures('src/database/README.md')).toEqual([drawTables(tables)]);
});

test('the README of deliveries has a picture of their states', () => {
  const [picture = ''] = readPictures('src/delivery/README.md');
  const states = [...picture.matchAll(/^ +(\S+) --> (\S+?):? /gm)].flatMap(([, from, to]) => [from, to]);
  expect(new Set(states)).toEqual(new Set(['[*]', ...DELIVERY_STATUSES]));
});

function readPictures(page: string): string[] {
  const text = readFileSync(join(REPOSITORY, page), 'utf8');
  return [...text.matchAll(/^```mermaid\n(.*?)\n```$/gms)].map(([, picture = '']) => picture);
}
