/** Both ends of a channel in one process. Between processes: test/robustness/workers.test.ts. */
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { RevocationMessage } from '../../src/cluster/messages.ts';
import { RevocationChannel } from '../../src/cluster/revocation-channel.ts';

/** Returns two ends that are connected. `onSent` sees each message. */
function connectEnds(onSent: (message: RevocationMessage) => void = () => {}) {
  const ends: RevocationChannel[] = [];
  const sendTo = (other: number) => (message: RevocationMessage) => {
    onSent(message);
    void ends[other]?.receive(message);
  };
  const [asking, asked] = [new RevocationChannel(sendTo(1)), new RevocationChannel(sendTo(0))];
  ends.push(asking, asked);
  return { asking, asked };
}

test('a request is done when the other end has forgotten the user', async () => {
  const { asking, asked } = connectEnds();
  const forgotten: string[] = [];
  asked.onForget(async (userId) => {
    // Longer than an answer takes.
    await setImmediate();
    forgotten.push(userId);
  });
  await Promise.all(['ada', 'bob'].map((userId) => asking.forgetUser(userId)));
  expect(forgotten).toEqual(['ada', 'bob']);
});

test('a request is over when the other end is gone, or does not answer', async () => {
  const silent = new RevocationChannel(() => {});
  const requests = [silent.forgetUser('ada'), silent.forgetUser('bob')];
  silent.close();
  await Promise.all(requests);
  await silent.forgetUser('ada');
});

test('an end that has no cache answers', async () => {
  const sent: RevocationMessage[] = [];
  const { asking } = connectEnds((message) => sent.push(message));
  await asking.forgetUser('ada');
  expect(sent).toEqual([{ revocation: 1, userId: 'ada' }, { revocation: 1 }]);
});
