/** The package that applications install. An application that does: test/robustness/client-package.test.ts. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { OPERATIONS } from '../../src/api/catalogue.ts';
import { toTypeScript } from '../../src/api/docs/example-commands.ts';
import { CLIENT_SETUP, LIST_EXAMPLE } from '../../src/api/docs/guides.ts';
import clientManifest from '../../src/client/package.json' with { type: 'json' };
import { ClientProject } from '../support/client-project.ts';
import { runShell } from '../support/process.ts';
import { variablesOf } from '../support/reference-examples.ts';
import { ADMIN_KEY, createTenant, startTestService } from '../support/service.ts';

const project = await ClientProject.create();

test('holds compiled JavaScript with types', async () => {
  const { stdout } = await runShell(`tar --list --file ${project.tarball}`);
  const files = stdout.trim().split('\n');
  for (const { default: path } of Object.values(clientManifest.exports)) expect(files).toContain(join('package', path));
  for (const file of files) expect(file).toMatch(/\.js$|\.d\.ts$|\/(package\.json|README\.md|LICENSE)$/);
});

test('has the version of Usher, and depends on what the tests run with', () => {
  const tested: Record<string, string> = { ...manifest.devDependencies, ...manifest.dependencies };
  expect(clientManifest.version).toBe(manifest.version);
  for (const [name, range] of Object.entries(clientManifest.dependencies)) {
    expect(range.replace('^', ''), name).toBe(tested[name]);
  }
});

test('makes every call of the API reference in TypeScript', async () => {
  await using service = await startTestService();
  const fixture = { service, tenant: await createTenant(service) };
  const examples = await Promise.all(
    OPERATIONS.map(async (operation) => {
      const example = toTypeScript(operation);
      const [imports = '', body = example] = example.startsWith('import') ? example.split('\n\n', 2) : ['', example];
      return { imports, body, env: await variablesOf(operation, example, fixture) };
    }),
  );
  const app = [
    ...new Set(examples.map(({ imports }) => imports)),
    CLIENT_SETUP,
    LIST_EXAMPLE,
    // Each has variables of its own.
    ...examples.map(({ body, env }) => `{\nObject.assign(env, ${JSON.stringify(env)});\n${body}\nvoid response;\n}`),
  ].join('\n');
  const script = await project.compileText(app);
  const env = { USHER_URL: service.url, API_KEY: fixture.tenant.apiKey, ADMIN_KEY };
  expect(await runShell(`node ${script}`, env)).toMatchObject({ exitCode: 0, stderr: '' });
});
