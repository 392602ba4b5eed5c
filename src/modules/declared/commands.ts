/** The commands `new-key`, `applications plan` and `applications export`. None of them writes to the database. */
import { readSettingFile } from '../../config/files.ts';
import { Database, type Run } from '../../database/pool/database.ts';
import { newApiKey } from '../../domain/applications/api-key.ts';
import type { CommandSettings } from '../module.ts';
import { compareFile } from './domain/apply-file.ts';
import { countLosers } from './domain/count-losers.ts';
import { exportApplications } from './domain/export-applications.ts';
import { describeSteps, findSteps } from './domain/find-steps.ts';
import { readAppliedFile, readState } from './domain/read-state.ts';
import { parseApplicationsFile } from './parse-applications-file.ts';

const STATEMENT_MS = 30_000;

/** Exit code of a plan that is not empty. */
const HAS_CHANGES = 2;

export function createDeclaredKey(): string {
  const { apiKey, digest } = newApiKey();
  return `key     ${apiKey}\nsha256  ${digest.toString('hex')}\n`;
}

export async function runApplications(
  readSettings: CommandSettings['readDatabaseSettings'],
  action: string | undefined,
  path: string | undefined,
) {
  if (action === 'export' && path === undefined)
    return withDatabase(readSettings, (run) => exportApplications(run, new Date()));
  if (action === 'plan' && path !== undefined) {
    const file = parseApplicationsFile(readSettingFile(path), path);
    return withDatabase(readSettings, async (run) => {
      const steps = findSteps(file, await readState(run, file));
      const lines = await describeSteps(steps, (losers) => countLosers(run, losers));
      const output = lines.map((line) => `${line}\n`).join('');
      if (lines.length === 0) return output;
      const applied = await readAppliedFile(run);
      if (compareFile(file, applied) !== 'new')
        throw new Error(`revision must be above ${applied?.revision}, which was applied`);
      return { output, exitCode: HAS_CHANGES };
    });
  }
  throw new Error('The command is applications plan <file>, or applications export');
}

async function withDatabase<Result>(
  readSettings: CommandSettings['readDatabaseSettings'],
  work: (run: Run) => Promise<Result>,
): Promise<Result> {
  const { databaseUrl, schema } = readSettings();
  const database = new Database(databaseUrl, { connections: 1, statementTimeoutMs: STATEMENT_MS, schema });
  try {
    return await work(database.eachWithin(STATEMENT_MS));
  } finally {
    await database.close();
  }
}
