import { expect, test } from 'vitest';
import { type BatchSlots, type EndpointKind, Slots } from '../../src/delivery/slots.ts';

const SIZE = 128;
const KINDS = ['quick', 'unproven', 'failing'] as const;

/** Starts batches of endpoints of the kind while there are slots. */
function startBatches(slots: Slots, kind: EndpointKind, endpoints: number, batchSize = 1): BatchSlots[] {
  const started: BatchSlots[] = [];
  for (let number = 0; number < endpoints && slots.countFree(kind) > 0; number++) {
    started.push(slots.take({ applicationId: `${number}`, kind, webhookId: `${kind}-${number}`, batchSize }));
  }
  return started;
}

const countFree = (slots: Slots) => KINDS.map((kind) => slots.countFree(kind));

test('endpoints that have not answered, or that fail, take no slots of quick ones', () => {
  const slots = new Slots(SIZE);
  startBatches(slots, 'failing', 1_000, 32);
  expect(countFree(slots)).toEqual([SIZE, 3 * SIZE, 0]);
  startBatches(slots, 'unproven', 1_000, 32);
  expect(countFree(slots)).toEqual([SIZE, 0, 0]);
});

test('attempts that become slow give their slots back, up to four times as many', () => {
  const slots = new Slots(SIZE);
  for (let second = 1; second <= 4; second++) {
    for (const batch of startBatches(slots, 'quick', 1_000)) batch.slowDown();
    expect(countFree(slots)).toEqual([SIZE, (4 - second) * SIZE, Math.min(1, 4 - second) * SIZE]);
  }
  const [batch] = startBatches(slots, 'quick', 1, 8);
  batch?.slowDown();
  expect(countFree(slots)).toEqual([SIZE - 8, 0, 0]);
});

test('one batch leaves slots to others', () => {
  const slots = new Slots(SIZE);
  expect(startBatches(slots, 'quick', 5, 1_000).map(({ count }) => count)).toEqual([64, 64]);
  expect(startBatches(slots, 'unproven', 3, 1_000).map(({ count }) => count)).toEqual([128, 64, 42]);
  expect(startBatches(slots, 'failing', 3, 1_000).map(({ count }) => count)).toEqual([1, 1, 1]);
});

test('the more endpoints hang, the fewer slow attempts each has, so that some are left for others', () => {
  const slots = new Slots(SIZE);
  for (let second = 0; second < 15; second++) {
    for (const batch of startBatches(slots, 'unproven', 100)) if (!batch.hasRoom()) batch.keep(0);
  }
  expect(slots.countFree('unproven')).toBeGreaterThan(2 * SIZE);
  const alone = new Slots(SIZE);
  const batch = alone.take({ applicationId: 'a', kind: 'unproven', webhookId: 'a', batchSize: 32 });
  expect([batch.count, batch.hasRoom()]).toEqual([32, true]);
});

test('what has ended or is not needed is free again', () => {
  for (const kind of KINDS) {
    const slots = new Slots(SIZE);
    const free = countFree(slots);
    const batch = slots.take({ applicationId: 'a', kind, webhookId: 'a', batchSize: 8 });
    batch.keep(1);
    batch.slowDown();
    batch.end();
    slots.take({ applicationId: 'a', kind, webhookId: 'a', batchSize: 8 }).keep(0);
    expect(countFree(slots)).toEqual(free);
  }
});

test('one slot serves every kind', () => {
  expect(KINDS.map((kind) => startBatches(new Slots(1), kind, 10, 32).length)).toEqual([1, 4, 1]);
});
