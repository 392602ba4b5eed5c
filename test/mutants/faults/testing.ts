/** The package for tests of applications: what a test would not see if it were wrong. */
import type { Fault } from '../fault.ts';

export const TESTING_FAULTS: readonly Fault[] = [
  {
    what: 'Caches outlive a move of the clock',
    find: 'async forget() { clearCaches(); await expireNow(parts);',
    replace: 'async forget() { await expireNow(parts);',
    test: 'test/integration/testing/advance.test.ts',
    title: /is not cached for longer/,
  },
  {
    what: 'The expiry job of a move runs by the real clock',
    find: 'await removeExpired(core.database, { now: clock(),',
    replace: 'await removeExpired(core.database, { now: new Date(),',
    test: 'test/integration/testing/advance.test.ts',
    title: /by 91d/,
  },
  {
    what: 'signIn by wallet does not know the floor',
    find: "await requireOpenIntent(call, loginIntentId, 'wallet'); const { id: userId } = await findPerson",
    replace:
      "await requireOpenIntent(call, loginIntentId, 'wallet', TWO_FACTORS); const { id: userId } = await findPerson",
    test: 'test/integration/testing/sign-in.test.ts',
    title: /by wallet, with the floor TWO_FACTORS, open/,
  },
  {
    what: 'settle does not wait for retries',
    find: 'from webhook_queues where next_at <= ${now} or lease is not null group by 2',
    replace: 'from webhook_queues where false and next_at <= ${now} group by 2',
    test: 'test/integration/testing/members.test.ts',
    title: /webhooks are verified/,
  },
];
