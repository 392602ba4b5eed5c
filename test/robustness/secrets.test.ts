/** Secrets and personal data appear only where they belong, at the most verbose log level and through all faults. */
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import type { TestDatabase } from '../support/database.ts';
import { createSurroundings } from '../support/secret-process.ts';
import { SecretScanner } from '../support/secret-scanner.ts';
import { runScenario } from '../support/secret-scenario.ts';
import { quickOrLong, report } from '../support/soak.ts';

test('no reply, log line, metric, span or table contains a secret that does not belong there', {
  timeout: 300_000,
}, async (context) => {
  const scanner = new SecretScanner();
  let dumped = 0;
  for (let round = 0; round < quickOrLong(1, 5); round++) {
    await using surroundings = await createSurroundings(scanner);
    const { usher, database, metricsUrl, spans } = surroundings;
    await runScenario(surroundings, scanner);
    const metrics = await (await fetch(metricsUrl)).text();
    expect(metrics).toContain('protocol="oidc"');
    scanner.look('the metrics', metrics);
    await usher.end('SIGTERM');
    const { exitCode, stdout, stderr } = await usher.result;
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout.split('\n').length).toBeGreaterThan(100);
    scanner.look('the log', stdout);
    expect(spans.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['POST /oidc/token', 'GET /oidc/userinfo', 'redeemCodeAndBeginSession']),
    );
    scanner.look('the spans', JSON.stringify(spans));
    const dump = await dumpDatabase(database);
    dumped += dump.length;
    scanner.look('a dump of the database', dump, ['e-mail', 'name', 'wallet', 'state', 'nonce']);
    expect(dump).toContain('planted-name');
  }
  report(context, {
    tried: `${scanner.size} kinds of secrets looked for in ${scanner.texts} texts, ${Math.round(dumped / 1024)} KiB of dumps among them`,
    lost: scanner.leaks.join(', '),
  });
  expect(scanner.leaks).toEqual([]);
});

/** Returns every table as text, as pg_dump writes it. */
async function dumpDatabase({ sql }: TestDatabase): Promise<string> {
  const tables = await sql`
    select schemaname || '.' || tablename as name from pg_tables where schemaname = 'usher'`;
  const dumps = await Promise.all(
    tables.map(async ({ name }) => text(await sql`copy ${sql(name)} to stdout`.readable())),
  );
  return dumps.join('\n');
}
