/** A service with an applications file: at the start, as it changes, in the console, in the metrics, and what ends with a change. */
import { rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { ConsoleFixture, OPERATORS } from '../../../support/console-fixture.ts';
import { cloneDatabase } from '../../../support/database.ts';
import { fileOf, GRAFANA, newDeclaredKey } from '../../../support/declared-fixture.ts';
import { createDirectory } from '../../../support/directory.ts';
import { openMetrics, scrape } from '../../../support/metrics.ts';
import { RecordedLog } from '../../../support/recorded-log.ts';
import { adminClient, clientsOf, startTestService } from '../../../support/service.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const WITHIN = { timeout: 15_000, interval: 200 };

async function createFile(text: string) {
  const path = join(await createDirectory(), 'applications.json');
  await writeFile(path, text);
  return { path, config: { applicationsFile: text, applicationsPath: path } };
}

describe('a file in use', async () => {
  const [first, second] = [newDeclaredKey('first'), newDeclaredKey('second')];
  const withKey = { ...GRAFANA, keys: [first.key, second.key], allowSignUp: true };
  const log = new RecordedLog();
  const { path, config } = await createFile(fileOf(withKey));
  const fixture = stack.use(await ConsoleFixture.open({ logger: log.logger, config: { ...config, metricsPort: 0 } }));
  const { service } = fixture;
  const admin = adminClient(service);
  const messages = () => log.parsed.map(({ msg }) => msg);
  const isKnown = (apiKey: string) =>
    clientsOf(service, { apiKey })
      .users.listUsers({})
      .then(
        () => true,
        () => false,
      );

  test('is applied before the service answers, and its keys work', async () => {
    expect(messages()).toContain('applications read');
    expect(await isKnown(first.apiKey)).toBe(true);
  });

  test('is shown in the console without forms, with the keys that are not in it', async () => {
    const { applications } = await admin.listApplications({});
    const id = applications.find(({ clientId }) => clientId === 'grafana')?.id ?? '';
    await admin.createApiKey({ applicationId: id, name: 'night' });
    const browser = await fixture.signIn(OPERATORS.admin);
    const page = await browser.open(`/applications/${id}`);
    expect(page.text).toContain('This application is declared in a file.');
    expect(page.body).toContain('value="Grafana"');
    expect(page.forms.map(({ action }) => action)).not.toContain(`/applications/${id}`);
    expect(page.body).not.toContain(`/applications/${id}/delete`);
    const keys = await browser.open(`/applications/${id}/keys`);
    expect(keys.text.match(/not in the file/g)).toHaveLength(1);
    expect(keys.body.match(/\/revoke"/g)).toHaveLength(1);
    const saved = await browser.post(`/applications/${id}`, { name: 'Other', redirectUris: 'https://other.test/' });
    expect(saved.text).toContain('Managed by file');
    expect((await browser.open('/audit')).text).toMatch(/The file [0-9a-f]{12}/);
    expect((await browser.open('/health')).text).toMatch(/Declared applications ?Well/);
  });

  test('that changes revokes a key, and is invalid without effect', async () => {
    await writeFile(path, fileOf({ ...withKey, keys: [second.key] }));
    await expect.poll(() => isKnown(first.apiKey), WITHIN).toBe(false);
    await writeFile(path, fileOf({ ...withKey, keys: [], askName: 'perhaps' }));
    await expect.poll(messages, WITHIN).toContain('applications not read');
    expect(await isKnown(second.apiKey)).toBe(true);
    const health = await (await fixture.signIn(OPERATORS.viewer)).open('/health');
    expect(health.text).toContain('APPLICATIONS_FILE applications[0] (grafana): askName must be true or false.');
    expect(health.text).toMatch(/Declared applications ?Not well/);
  });

  test('that vanishes, is empty, or turns as a symbolic link deletes nothing', async () => {
    await rm(path);
    await writeFile(`${path}.empty`, '');
    await symlink(`${path}.empty`, path);
    await writeFile(`${path}.next`, '{"applications":[]}');
    const errors = () => messages().filter((msg) => msg === 'applications not read').length;
    const before = errors();
    await expect.poll(errors, WITHIN).toBeGreaterThan(before);
    await symlink(`${path}.next`, `${path}.link`);
    await rename(`${path}.link`, path);
    const metrics = stack.use(await openMetrics(service));
    const isGone = async () => (await admin.listApplications({})).applications.every((each) => !each.managedByFile);
    await expect.poll(isGone, WITHIN).toBe(true);
    const { applications } = await admin.listApplications({});
    expect(applications.map(({ clientId }) => clientId)).toContain('grafana');
    expect(await isKnown(second.apiKey)).toBe(true);
    expect((await scrape(metrics)).text).toContain('usher_declared_applications{state="gone"} 1\n');
    const browser = await fixture.signIn(OPERATORS.admin);
    expect((await browser.open('/health')).text).toMatch(/No longer in the file ?grafana/);
    const id = applications.find(({ clientId }) => clientId === 'grafana')?.id ?? '';
    const page = await browser.open(`/applications/${id}`);
    expect(page.text).toContain('no longer in the file');
    expect(page.forms.map(({ action }) => action)).toContain(`/applications/${id}`);
  });
});

describe('at the start', () => {
  test('an invalid file stops it, in one line that names entry and field', async () => {
    await using database = await cloneDatabase();
    const { config } = await createFile(fileOf({ ...GRAFANA, askName: 'perhaps' }));
    const message = 'APPLICATIONS_FILE applications[0] (grafana): askName must be true or false';
    await expect(startTestService({ database, config })).rejects.toThrow(new Error(message));
    expect(await database.sql`select from applications where client_id = 'grafana'`).toEqual([]);
  });

  test('a file that the database does not allow changes nothing', async () => {
    await using database = await cloneDatabase();
    const access = [{ group: 'nobody', allowsAccess: true }];
    const { config } = await createFile(fileOf(GRAFANA, { ...GRAFANA, clientId: 'argo-cd', access }));
    const message = 'APPLICATIONS_FILE applications[1] (argo-cd): access[0].group is no group';
    await expect(startTestService({ database, config })).rejects.toThrow(new Error(message));
    expect(await database.sql`select from declared_files`).toEqual([]);
    expect(await database.sql`select from applications where client_id = 'grafana'`).toEqual([]);
  });

  test('an unchanged file writes nothing, and an older one is served by what is there', async () => {
    await using database = await cloneDatabase();
    const fileAt = (revision: number) => JSON.stringify({ revision, applications: [GRAFANA] });
    const [young, old] = [await createFile(fileAt(2)), await createFile(fileAt(1))];
    const start = async (config: typeof young.config) => {
      const log = new RecordedLog();
      await using _ = await log.start({ database, config });
      return log.parsed.map(({ msg }) => msg);
    };
    expect(await start(young.config)).toContain('applications read');
    const events = await database.sql`select from audit_events`;
    expect(await start(young.config)).not.toContain('applications read');
    expect(await start(old.config)).toContain('applications file is older than the one that was applied');
    expect(await database.sql`select from audit_events`).toHaveLength(events.length);
    expect(await database.sql`select revision from declared_files`).toEqual([{ revision: 2 }]);
  });
});
