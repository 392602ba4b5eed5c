/** Debian's go-oidc, which Grafana, Dex and oauth2-proxy are built on. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createDirectory } from '../support/directory.ts';
import { openClientFixture } from '../support/openid/client-fixture.ts';
import { PERSON } from '../support/openid/provider.ts';
import { canRun, runProgram, SCRIPTS } from '../support/openid/run-script.ts';

/** Where Debian has the source of packages. */
const GO = ['GO111MODULE=off', 'GOPATH=/usr/share/gocode', 'go'] as const;

// Go has 450 MB, so CI does not install it: the packages are golang-go and golang-github-coreos-go-oidc-dev.
test.skipIf(!canRun('env', ...GO, 'list', 'github.com/coreos/go-oidc'))(
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
