import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core';
import { expect, test } from 'vitest';
import drizzleConfig from '../../../drizzle.config.ts';
import { DELIVERY_STATUSES } from '../../../src/domain/webhooks/delivery.ts';
import { REPOSITORY } from '../../support/process.ts';

/** The tables whose IDs these columns hold, also where Postgres has no constraint. */
const NAMED: Readonly<Record<string, string>> = {
  application_id: 'applications',
  event_id: 'events',
  login_intent_id: 'login_intents',
  message_id: 'webhook_messages',
  owner_id: 'users',
  user_id: 'users',
  webhook_id: 'webhooks',
};

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

/**
 * Draws the tables as a Mermaid diagram: https://mermaid.js.org/syntax/entityRelationshipDiagram.html. An unbroken line
 * is a foreign key. A table below a row of an application has no line to `applications`.
 */
function drawTables(tables: readonly PgTable[]): string {
  const configs = tables.map((table) => getTableConfig(table));
  const ofApplications = new Set(
    configs.filter(({ columns }) => columns.some(({ name }) => name === 'application_id')).map(({ name }) => name),
  );
  const lines = configs
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap(({ name: table, columns, foreignKeys }) => {
      const keyed = foreignKeys
        .map((key) => key.reference())
        .map(({ columns: own, foreignTable }) => ({
          parent: getTableConfig(foreignTable).name,
          line: '||--o{',
          label: own.at(-1)?.name ?? '',
        }));
      const named = columns
        .map(({ name }) => ({ parent: NAMED[name] ?? '', line: '||..o{', label: name }))
        .filter(({ parent }) => parent !== '' && !keyed.some((key) => key.parent === parent));
      const all = [...keyed, ...named];
      const isInner = all.some(({ parent }) => ofApplications.has(parent));
      const shown = all.filter(({ parent }) => !(isInner && parent === 'applications'));
      if (shown.length === 0) return [`  ${table}`];
      return shown.map(({ parent, line, label }) => `  ${parent} ${line} ${table} : ${label}`);
    });
  const isShown = (line: string) => / : /.test(line) || !lines.some((other) => other.startsWith(`${line} `));
  return ['erDiagram', ...lines.filter(isShown)].join('\n');
}
