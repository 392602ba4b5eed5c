/** Debian's Authlib, for applications in Python. */
import { expect, test } from 'vitest';
import { openClientFixture } from '../support/openid/client-fixture.ts';
import { PERSON } from '../support/openid/provider.ts';
import { canRun, runScript } from '../support/openid/run-script.ts';

// The one of the system, which has the package.
const PYTHON = '/usr/bin/python3';

test.skipIf(!canRun(PYTHON, '-c', 'import authlib, requests') && !process.env.CI)(
  'Authlib signs a user in with PKCE, refreshes, and reads the profile',
  async () => {
    const fixture = await openClientFixture({ requirePkce: true });
    expect(await runScript(PYTHON, 'authlib_client.py', fixture)).toMatchObject({
      claims: { iss: fixture.issuer, sub: fixture.provider.userId, email: PERSON.email },
      userinfo: { sub: fixture.provider.userId, ...PERSON },
      refreshed: true,
    });
  },
);
