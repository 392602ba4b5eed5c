/** Debian's Authlib, for applications in Python. */
import { expect, test } from 'vitest';
import { openClientFixture } from '../support/openid/client-fixture.ts';
import { PERSON } from '../support/openid/provider.ts';
import { runScript } from '../support/openid/run-script.ts';
import { lacks, PYTHON_PATH } from '../support/tools.ts';

// The one of the system, which has the package.
test.skipIf(lacks('AUTHLIB'))('Authlib signs a user in with PKCE, refreshes, and reads the profile', async () => {
  const fixture = await openClientFixture({ requirePkce: true });
  expect(await runScript(PYTHON_PATH, 'authlib_client.py', fixture)).toMatchObject({
    claims: { iss: fixture.issuer, sub: fixture.provider.userId, email: PERSON.email },
    userinfo: { sub: fixture.provider.userId, ...PERSON },
    refreshed: true,
  });
});
