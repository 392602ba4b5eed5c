/**
 * Go: the examples as the API reference shows them, and Debian's go-oidc, which Grafana, Dex and oauth2-proxy are built
 * on. The compiler gets the source of packages from Debian, so there is no module to download.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { createDirectory } from '../../support/directory.ts';
import { ExampleBrowser, startExample } from '../../support/example-application.ts';
import { expectReader } from '../../support/expect-reader.ts';
import { expectSessionReader } from '../../support/expect-session-reader.ts';
import { findFreePort } from '../../support/free-port.ts';
import { createNpx } from '../../support/npx.ts';
import { createRsaJwk } from '../../support/oidc.ts';
import { openClientFixture } from '../../support/openid/client-fixture.ts';
import { PERSON } from '../../support/openid/provider.ts';
import { runProgram } from '../../support/openid/run-program.ts';
import { REPOSITORY, runShell } from '../../support/process.ts';
import { quickStartOf, readerSetupOf } from '../../support/quick-starts.ts';
import { ADMIN_KEY, adminClient, createTestUser, startTestService } from '../../support/service.ts';
import { lacks } from '../../support/tools.ts';

/** Where Debian has the source of packages. */
const DEBIAN = '/usr/share/gocode';
const EXAMPLES = join(REPOSITORY, 'test/examples');

// On a busy machine the compiler takes minutes.
describe.skipIf(lacks('GO'))('in Go', { timeout: 900_000 }, () => {
  let directory: string;

  beforeAll(async () => {
    directory = await createDirectory();
    // Debian's go-oidc is of an earlier version, which has the same functions under another path.
    const oidc = join(directory, 'src/github.com/coreos/go-oidc/v3');
    await mkdir(oidc, { recursive: true });
    await symlink(join(DEBIAN, 'src/github.com/coreos/go-oidc'), join(oidc, 'oidc'));
  });

  /** Returns the path of the program. Go keeps what it has compiled, for the next run too. */
  async function build(source: string): Promise<string> {
    const program = join(directory, `program-${crypto.randomUUID()}`);
    const env = { ...process.env, GO111MODULE: 'off', GOPATH: `${DEBIAN}:${directory}` };
    await promisify(execFile)('go', ['build', '-o', program, source], { env });
    return program;
  }

  /** Builds the file of an example. */
  async function buildExample(folder: string): Promise<string> {
    await cp(join(EXAMPLES, folder, 'main.go'), join(directory, 'src/shop/main.go'));
    return build('shop');
  }

  const start = async (folder: string, env: Record<string, string>) =>
    startExample([], env, await buildExample(folder));

  /** Writes the code of a schema as the set-up of an example does. */
  async function generate(setup = ''): Promise<void> {
    const [command = ''] = /npx buf generate [^']*'[^']*'/.exec(setup) ?? [];
    const stubs = await runShell(`cd '${REPOSITORY}' && ${command.replaceAll('../shop', `${directory}/src/shop`)}`);
    expect(stubs).toMatchObject({ exitCode: 0 });
  }

  test('a service signs users in over gRPC, as its tests say', async () => {
    await generate(quickStartOf('Go over gRPC').setup);
    for (const name of ['main.go', 'main_test.go'])
      await cp(join(EXAMPLES, 'go-grpc', name), join(directory, 'src/shop', name));
    const path = [await createNpx(), process.env.PATH].join(':');
    const env = { ...process.env, GO111MODULE: 'off', GOPATH: `${DEBIAN}:${directory}`, PATH: path };
    const { stdout } = await promisify(execFile)('go', ['test', '-v', 'shop'], { env });
    expect(stdout.match(/^--- PASS/gm)).toHaveLength(3);
    await rm(join(directory, 'src/shop/main_test.go'));
  });

  test('a service reads messages, across restarts', async () => {
    await generate(readerSetupOf('Go', 'messages'));
    await expectReader([await buildExample('messages')]);
  });

  test('a service checks sessions in memory', async () => {
    await generate(readerSetupOf('Go', 'sessions'));
    await expectSessionReader([await buildExample('sessions')]);
  });

  test('a service signs users in and out by OpenID Connect', async () => {
    const port = await findFreePort();
    const USHER_URL = `http://localhost:${port}`;
    await using service = await startTestService({
      oidcSigningKeys: [createRsaJwk()],
      config: { port, publicUrl: USHER_URL },
    });
    const { creation } = quickStartOf('Go with OpenID Connect');
    const created = await runShell(`${creation}echo $CLIENT_ID $API_KEY`, { USHER_URL, ADMIN_KEY });
    const [CLIENT_ID = '', API_KEY = ''] = created.stdout.trim().split(' ');
    const app = await start('go-oidc', { USHER_URL, CLIENT_ID, API_KEY });
    try {
      const browser = new ExampleBrowser();
      const user = await createTestUser(service);
      const callback = await browser.signIn(app.url, service, user);
      expect((await new ExampleBrowser().open(callback)).status).toBe(400);
      expect((await browser.open(callback)).headers.get('location')).toBe('/');
      expect(await browser.read(app.url)).toContain(`Signed in as ${user.email}`);
      expect((await adminClient(service).listUserGrants({ userId: user.id })).grants).toHaveLength(1);

      const left = await browser.open(`${app.url}/logout`, 'POST');
      const back = await browser.open(left.headers.get('location') ?? '');
      expect(back.headers.get('location')).toBe(`${app.url}/`);
      expect((await adminClient(service).listUserGrants({ userId: user.id })).grants).toEqual([]);
      expect(await browser.read(app.url)).toContain('href="/login"');
    } finally {
      app.close();
    }
  });

  test('go-oidc signs a user in with PKCE, refreshes, and reads the profile', async () => {
    const program = await build(join(import.meta.dirname, 'go_oidc_client.go'));
    const fixture = await openClientFixture({ requirePkce: true });
    expect(await runProgram(program, fixture)).toMatchObject({
      claims: { iss: fixture.issuer, sub: fixture.provider.userId, email: PERSON.email },
      userinfo: { sub: fixture.provider.userId, ...PERSON },
      refreshed: true,
    });
  });
});
