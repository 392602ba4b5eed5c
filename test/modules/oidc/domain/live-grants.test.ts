/** How soon a grant that ends elsewhere is dead here. The clock is the test's. */
import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Run } from '../../../../src/database/pool/database.ts';
import type { LiveSessions } from '../../../../src/domain/sessions/live-sessions.ts';
import { LiveGrants } from '../../../../src/modules/oidc/domain/grants/live-grants.ts';
import { stopTimer } from '../../../support/clock.ts';

const STALENESS_MS = 5_000;

function openGrants() {
  const timer = stopTimer();
  onTestFinished(() => timer[Symbol.dispose]());
  const [applicationId, grantId] = [randomUUID(), randomUUID()];
  let isEnded = false;
  let answers = true;
  const run = async () => {
    if (!answers) return new Promise(() => {});
    return isEnded ? [] : [{ id: grantId, userId: randomUUID() }];
  };
  const grants = new LiveGrants(run as Run, { isCurrent: () => true } as unknown as LiveSessions, () => true);
  return {
    find: () => grants.find(applicationId, grantId),
    wait: (ms: number) => timer.advance(ms),
    /** Another replica ends the grant: this one is not told. */
    endElsewhere: () => {
      isEnded = true;
    },
    hang: () => {
      answers = false;
    },
  };
}

test.each([50, 500, 2_400, 4_900])(
  'a grant that another replica ends is dead within 5 s where it is used every %i ms',
  async (pauseMs) => {
    const { find, wait, endElsewhere } = openGrants();
    expect(await find()).toBeDefined();
    wait(100);
    endElsewhere();
    for (let waited = 0; waited + pauseMs < STALENESS_MS; waited += pauseMs) {
      await find();
      wait(pauseMs);
    }
    wait(pauseMs);
    expect(await find()).toBeUndefined();
  },
);

test('a grant whose look-up hangs is not taken from an answer that is 5 s old', async () => {
  const { find, wait, hang } = openGrants();
  expect(await find()).toBeDefined();
  hang();
  wait(STALENESS_MS - 1);
  expect(await find()).toBeDefined();
  wait(1);
  const late = vi.fn();
  find().then(late, late);
  await new Promise((resolve) => setImmediate(resolve));
  expect(late).not.toHaveBeenCalled();
});
