/** What the check of the settings says about the host to which passkeys belong. */
import { beforeEach, expect, test } from 'vitest';
import { fail, pass } from '../../../../src/modules/check.ts';
import { passkeysModule } from '../../../../src/modules/passkeys/module.ts';
import { openDomain } from '../../../support/domain-scene.ts';

const { sql, insert, createUser } = await openDomain();
const userId = await createUser();
beforeEach(() => sql`delete from passkeys`);

const OWN = [pass('they belong to usher.test')];
const FOREIGN = [fail('some belong to other.test, and not to usher.test', 'Their users cannot sign in with them')];

test.each<[string, hosts: readonly string[], config: object, findings: readonly object[]]>([
  ['none are stored', [], {}, OWN],
  ['all belong to the host of the URL', ['usher.test'], {}, OWN],
  ['some belong to another host', ['usher.test', 'other.test', 'other.test'], {}, FOREIGN],
  [
    'they belong to the host of the setting',
    ['other.test'],
    { passkeyRpId: 'other.test' },
    [pass('they belong to other.test')],
  ],
  ['nobody can sign in with one', ['other.test'], { loginMethods: ['email'] }, [pass('nobody can sign in with one')]],
  ['people sign in elsewhere', ['other.test'], { authPageUrl: 'https://login.test' }, []],
  ['the tables are not made', ['other.test'], { databaseSchema: 'nowhere' }, OWN],
  ['the tables are those of an older version', ['other.test'], { databaseSchema: 'pg_catalog' }, OWN],
])('%s', async (_, hosts, config, findings) => {
  for (const rp_id of hosts) await insert('passkeys', { user_id: userId, rp_id });
  const [check] = passkeysModule.checks ?? [];
  const usual = { authPageUrl: undefined, databaseSchema: 'usher', loginMethods: ['email', 'passkey'] };
  const context = { config: { ...usual, ...config }, publicUrl: 'https://usher.test' };
  expect(await check?.run({ ...context, read: (query: (of: typeof sql) => unknown) => query(sql) } as never)).toEqual(
    findings,
  );
  if (hosts.length === 0) expect(await check?.run(context as never)).toEqual(findings);
});
