/** Debian's gem openid_connect, which fails on key sets with keys that it does not know. */
import { expect, test } from 'vitest';
import { openClientFixture } from '../support/openid/client-fixture.ts';
import { PERSON } from '../support/openid/provider.ts';
import { runScript } from '../support/openid/run-script.ts';
import { lacks } from '../support/tools.ts';

test.skipIf(lacks('RUBY'))('the gem openid_connect signs a user in and reads the profile', async () => {
  const fixture = await openClientFixture();
  expect(await runScript('ruby', 'openid_connect_client.rb', fixture)).toMatchObject({
    claims: { iss: fixture.issuer, sub: fixture.provider.userId, email: PERSON.email },
    userinfo: { sub: fixture.provider.userId, ...PERSON },
  });
});
