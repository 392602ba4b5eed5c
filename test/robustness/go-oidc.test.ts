/** Debian's go-oidc, which Grafana, Dex and oauth2-proxy are built on. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createDirectory } from '../support/directory.ts';
import { openClientFixture } from '../support/openid/client-fixture.ts';
import { PERSON } from '../support/openid/provider.ts';
import { runProgram, SCRIPTS } from '../support/openid/run-script.ts';
import { GO, lacks } from '../support/tools.ts';

test.skipIf(lacks('GO'))(
  'go-oidc signs a user in with PKCE, refreshes, and reads the profile',
  { timeout: 300_000 },
  async () => {
    const directory = await createDirectory();
    const program = join(directory, 'client');
    const build = ['build', '-o', program, join(SCRIPTS, 'go_oidc_client.go')];
    await promisify(execFile)('env', [`GOCACHE=${join(directory, 'cache')}`, ...GO, ...build]);
    const fixture = await openClientFixture({ requirePkce: true });
    expect(await runProgram(program, [], fixture)).toMatchObject({
      claims: { iss: fixture.issuer, sub: fixture.provider.userId, email: PERSON.email },
      userinfo: { sub: fixture.provider.userId, ...PERSON },
      refreshed: true,
    });
  },
);
