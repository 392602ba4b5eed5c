/** Files of declared applications, applied and planned without a watcher. */
import { hash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DEFAULT_SCHEMA } from '../../src/config/database-url.ts';
import { Database } from '../../src/database/pool/database.ts';
import { generateApiKey } from '../../src/domain/applications/api-key.ts';
import { runApplications } from '../../src/modules/declared/commands.ts';
import { applyFile } from '../../src/modules/declared/domain/apply-file.ts';
import { parseApplicationsFile } from '../../src/modules/declared/parse-applications-file.ts';
import { LAYOUT, type TestDatabase } from './database.ts';
import { createDirectory } from './directory.ts';

export const GRAFANA = { clientId: 'grafana', name: 'Grafana', redirectUris: ['https://grafana.test/login'] };

/** Returns a key of a file with the secret that it stands for. */
export function newDeclaredKey(name: string) {
  const apiKey = generateApiKey();
  return { apiKey, key: { name, sha256: hash('sha256', apiKey, 'hex') } };
}

/** Returns the text of a file with these applications. */
export function fileOf(...applications: readonly object[]): string {
  return JSON.stringify({ applications });
}

export interface DeclaredFixture extends AsyncDisposable {
  /** Where files are applied. */
  readonly database: Database;
  /** The file is without its place, so its logos are data. */
  apply(text: string, now?: Date): Promise<string>;
  export(): Promise<string>;
  plan(text: string): Promise<string>;
  /** The applications that had messages. */
  readonly notified: string[];
}

export function openDeclaredFixture({ url }: Pick<TestDatabase, 'url'>): DeclaredFixture {
  const database = new Database(url, {
    connections: 2,
    statementTimeoutMs: 30_000,
    layout: LAYOUT,
    schema: DEFAULT_SCHEMA,
  });
  const readSettings = () => ({ databaseUrl: url, schema: DEFAULT_SCHEMA });
  const notified: string[] = [];
  return {
    database,
    notified,
    apply(text, now = new Date()) {
      const onMessage = (applicationId: string) => void notified.push(applicationId);
      return applyFile(database, parseApplicationsFile(text, '/nowhere/applications.json'), { now, onMessage });
    },
    async export() {
      return String(await runApplications(readSettings, 'export', undefined));
    },
    async plan(text) {
      const path = join(await createDirectory(), 'applications.json');
      await writeFile(path, text);
      const result = await runApplications(readSettings, 'plan', path);
      return typeof result === 'string' ? result : result.output;
    },
    [Symbol.asyncDispose]: () => database.close(),
  };
}
