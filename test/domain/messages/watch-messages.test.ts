/** How long a watch sleeps. What it yields: test/integration/contract/messages.test.ts. */
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import type { ApplicationCall } from '../../../src/domain/core/call.ts';
import type { Watcher } from '../../../src/domain/messages/message-feeds.ts';
import { watchMessages } from '../../../src/domain/messages/watch-messages.ts';
import { PageTokens } from '../../../src/domain/pages/list.ts';

test('a watch sleeps until it checks its key, and no longer', async () => {
  const leaving = new AbortController();
  const [slept, sizes] = [[], []] as [number[], number[]];
  const NOWHERE = { epoch: 'e', start: '0', end: '0', reached: '0', positions: 100 };
  const watcher: Partial<Watcher> = {
    takeRefresh: () => false,
    hasMore: () => false,
    waitForMore: async (_cursor, ms) => {
      slept.push(ms);
      leaving.abort();
    },
  };
  const call = {
    run: async (_: unknown, parameters: { size: number }) => {
      sizes.push(parameters.size);
      return [{ ...NOWHERE, at: null, messageId: null, payload: null }];
    },
    application: { id: 'a' },
  };
  const parts = { watcher: watcher as Watcher, tokens: new PageTokens([randomBytes(32)]), requireKey: async () => {} };
  const signals = { signal: leaving.signal, closing: new AbortController().signal };
  const watch = watchMessages(call as unknown as ApplicationCall, { ...parts, ...signals }, { cursor: 'oldest' });
  await expect(async () => {
    for await (const { messages } of watch) expect(messages).toEqual([]);
  }).rejects.toThrow();
  expect([slept, sizes]).toEqual([[expect.any(Number)], [100]]);
  expect(slept[0]).toBeGreaterThan(2_000);
  expect(slept[0]).toBeLessThanOrEqual(4_000);
});
