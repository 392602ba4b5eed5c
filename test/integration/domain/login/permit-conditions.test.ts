/** Each condition of permits, which limit how often something may be done, a row each. */
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { ServiceError } from '../../../../src/domain/core/errors.ts';
import { deriveLoginCodeKeys } from '../../../../src/domain/login/login-code.ts';
import {
  type Bucket,
  ONCE_A_DAY,
  permitsOf,
  returnNetworkPermits,
  settlePermits,
  takeChangePermit,
  takeEach,
  takeNetworkPermits,
  takePermit,
} from '../../../../src/domain/login/rate-limit.ts';
import { LAYOUT } from '../../../support/database.ts';
import { at, DAY, HOUR, NOW, openDomain } from '../../../support/domain-scene.ts';
import { holdLock, waitForLockOf } from '../../../support/lock.ts';

const { sql, callAt, clone } = await openDomain();
const userId = randomUUID();
const newKeys = () => deriveLoginCodeKeys([randomBytes(32)]);
const reasonOf = ({ reason }: ServiceError) => ({ reason });

describe.each([...new Set<'whole' | 'distributed'>([LAYOUT, 'distributed'])])(
  'permits, on one server or several: %s',
  (layout) => {
    const callThere = (ms = 0) => callAt(at(ms), undefined, layout);
    const key = () => randomBytes(32);
    const LIMIT = { burst: 2, intervalMs: HOUR };

    test('come back one by one, and a refusal takes none', async () => {
      const [mine, theirs] = [key(), key()];
      const take = (ms: number, of = mine) => takePermit(callThere(ms), of, LIMIT);
      const taken = [];
      for (const ms of [0, 0, 0, HOUR - 1, HOUR, HOUR, 3 * HOUR, 3 * HOUR, 3 * HOUR]) taken.push(await take(ms));
      expect(taken).toEqual([true, true, false, false, true, false, true, true, false]);
      // An idle bucket is empty, not more than that.
      expect(await take(0, theirs)).toBe(true);
      expect([await take(DAY, theirs), await take(DAY, theirs), await take(DAY, theirs)]).toEqual([true, true, false]);
      const [row] = await sql`select expires_at from rate_limits where key = ${theirs}`;
      expect(row).toEqual({ expires_at: at(DAY + 2 * HOUR) });
    });

    test('of a person: one notice a day, and 60 changes', async () => {
      const [daily, keys] = [key(), newKeys()];
      const take = () => takePermit(callThere(), daily, ONCE_A_DAY);
      expect([await take(), await take()]).toEqual([true, false]);
      const change = () => takeChangePermit(callThere(), keys, userId);
      for (let n = 0; n < 60; n++) await change();
      expect(await change().catch(reasonOf)).toEqual({ reason: 'TOO_MANY_CHANGES' });
      await takeChangePermit(callAt(), keys, randomUUID());
      expect(await change().catch(reasonOf)).toEqual({ reason: 'TOO_MANY_CHANGES' });
    });

    test.each<[string, perNetwork: number, perSite: number, addresses: string[], taken: boolean[]]>([
      ['of a network', 1, 9, ['192.0.2.1', '192.0.2.1', '192.0.2.2'], [true, false, true]],
      ['of a site', 9, 1, ['192.0.2.1', '192.0.2.2', '192.0.3.1'], [true, false, true]],
      // A refusal by the site takes none of the network.
      ['of both', 2, 2, ['192.0.2.1', '192.0.2.2', '192.0.2.1', '192.0.2.1'], [true, true, false, false]],
    ])('%s', async (_, perNetwork, perSite, addresses, expected) => {
      const keys = { keys: newKeys() };
      const limit = {
        ...{ subject: 'tests', perNetwork: { burst: perNetwork, intervalMs: HOUR } },
        perSite: { burst: perSite, intervalMs: HOUR },
      };
      const taken = [];
      for (const address of addresses) taken.push(await takeNetworkPermits(callThere(), keys, address, limit));
      expect(taken).toEqual(expected);
      const [first = ''] = addresses;
      await returnNetworkPermits(callThere(), keys, first, limit);
      expect(await takeNetworkPermits(callThere(), keys, first, limit)).toBe(true);
      expect(await takeNetworkPermits(callThere(), keys, first, limit)).toBe(false);
      expect(await takeNetworkPermits(callThere(), { ...keys, limitFactor: 2 }, first, limit)).toBe(true);
    });

    const OF_NETWORK = { subject: 'tests', perNetwork: { ...LIMIT, burst: 1 }, perSite: LIMIT };

    test('of a network that has none left are refused without a lock on those of its site', async () => {
      const keys = { keys: newKeys() };
      const take = () => takeNetworkPermits(callThere(), keys, '192.0.2.1', OF_NETWORK);
      expect(await take()).toBe(true);
      await using _ = await holdLock(clone, 'update rate_limits set empty_ms = empty_ms');
      expect(await take()).toBe(false);
    });

    test('are refused without a lock, and taken by nobody who comes second', async () => {
      const [full, last] = [key(), key()];
      const take = (of: Buffer) => takePermit(callThere(), of, { burst: 1, intervalMs: HOUR });
      expect(await take(full)).toBe(true);
      const lock = await holdLock(clone, `select from rate_limits where key = '\\x${full.toString('hex')}' for update`);
      expect(await take(full)).toBe(false);
      await lock.release();
      const first = await holdLock(
        clone,
        `insert into rate_limits (key, empty_ms, expires_at) values ('\\x${last.toString('hex')}', ${NOW.getTime() + HOUR}, '${at(HOUR).toISOString()}')`,
      );
      const second = take(last);
      await waitForLockOf(clone, second);
      await first.release();
      expect(await second).toBe(false);
    });

    test('of several buckets are given back if one is full, or was filled meanwhile', async () => {
      const [taken, other] = [
        { key: key(), burst: 1, intervalMs: HOUR },
        { key: key(), burst: 1, intervalMs: HOUR },
      ];
      for (const isFull of [true, false]) {
        expect(await takePermit(callThere(), taken.key, taken)).toBe(true);
        const rows = [
          { isFull: false, isTaken: true },
          { isFull, isTaken: false },
        ];
        expect(await settlePermits(callThere(), [taken, other], rows)).toBe(other);
      }
      expect(await takePermit(callThere(), taken.key, taken)).toBe(true);
    });

    test('of five buckets at most', () => {
      const buckets = (length: number) => Array.from({ length }, () => ({ key: key(), ...LIMIT }));
      expect(permitsOf(callAt(), buckets(5)).keys).toHaveLength(5);
      expect(() => permitsOf(callAt(), buckets(6))).toThrow('too many buckets');
    });
  },
);

test('where each bucket is on a server of its own, one that is full and need not have a permit is not locked', async () => {
  const call = callAt(NOW, undefined, 'distributed');
  const [own, shared] = [HOUR, DAY].map((intervalMs) => ({ key: randomBytes(32), burst: 1, intervalMs })) as [
    Bucket,
    Bucket,
  ];
  expect(await takePermit(call, shared.key, shared)).toBe(true);
  await using _ = await holdLock(clone, 'update rate_limits set empty_ms = empty_ms');
  expect(await takeEach(call, [own, shared], 1)).toEqual([
    { isFull: false, isTaken: true },
    { isFull: true, isTaken: false },
  ]);
});
