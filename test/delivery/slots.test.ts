import { expect, test } from 'vitest';
import { type BatchSlots, type Line, Slots } from '../../src/delivery/slots.ts';

const SIZE = 128;
const LINES = ['quick', 'unproven', 'failing'] as const;

/** Starts batches of endpoints of the line while there are slots. */
function startBatches(slots: Slots, line: Line, endpoints: number, batchSize = 1): BatchSlots[] {
  const started: BatchSlots[] = [];
  for (let number = 0; number < endpoints && slots.countFree(line) > 0; number++) {
    started.push(slots.take({ line, webhookId: `${line}-${number}`, batchSize }));
  }
  return started;
}

const countFree = (slots: Slots) => LINES.map((line) => slots.countFree(line));

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
  const batch = alone.take({ line: 'unproven', webhookId: 'a', batchSize: 32 });
  expect([batch.count, batch.hasRoom()]).toEqual([32, true]);
});

test('what has ended or is not needed is free again', () => {
  for (const line of LINES) {
    const slots = new Slots(SIZE);
    const free = countFree(slots);
    const batch = slots.take({ line, webhookId: 'a', batchSize: 8 });
    batch.keep(1);
    batch.slowDown();
    batch.end();
    slots.take({ line, webhookId: 'a', batchSize: 8 }).keep(0);
    expect(countFree(slots)).toEqual(free);
  }
});

test('one slot serves every line', () => {
  expect(LINES.map((line) => startBatches(new Slots(1), line, 10, 32).length)).toEqual([1, 4, 1]);
});
