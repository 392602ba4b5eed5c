import { expect, test } from 'vitest';
import { type BatchSlots, type EndpointKind, Slots } from '../../../src/delivery/slots.ts';

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

/** Starts batches of one application while it has turns. Each has another endpoint. */
function startTurns(slots: Slots, applicationId: string, kind: EndpointKind, batchSize = 32, isAlone = false) {
  const started: BatchSlots[] = [];
  while (slots.hasTurn({ applicationId, kind }, isAlone)) {
    const webhookId = `${applicationId}-${kind}-${started.length}-${Math.random()}`;
    const batch = slots.take({ applicationId, kind, webhookId, batchSize }, isAlone);
    batch.keep(batch.count);
    started.push(batch);
  }
  return started;
}

/** Starts quick batches of the application that hang, until it has no turn. Returns how many attempts there are. */
function hang(slots: Slots, applicationId: string, isAlone = false): number {
  let count = 0;
  for (;;) {
    const batches = startTurns(slots, applicationId, 'quick', 32, isAlone);
    if (batches.length === 0 || count > 8 * SIZE) return count;
    for (const batch of batches) batch.slowDown();
    count += sum(batches);
  }
}

const sum = (batches: readonly BatchSlots[]) => batches.reduce((total, { count }) => total + count, 0);
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
  const queue = { applicationId: 'new', kind: 'quick', webhookId: 'new' } as const;
  slots.take({ ...queue, batchSize: 8 }).slowDown();
  expect(countFree(slots)).toEqual([SIZE - 8, 0, 0]);
});

test('one batch leaves slots to others', () => {
  const slots = new Slots(SIZE);
  expect(startBatches(slots, 'quick', 5, 1_000).map(({ count }) => count)).toEqual([64, 32, 16, 8, 4]);
  expect(startBatches(new Slots(SIZE), 'unproven', 3, 1_000).map(({ count }) => count)).toEqual([64, 64, 42]);
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

test('an application whose endpoints hang has a quarter of the slow attempts while others wait', () => {
  const slots = new Slots(SIZE);
  expect(hang(slots, 'a')).toBe(SIZE);
  for (const kind of KINDS) expect(slots.hasTurn({ applicationId: 'a', kind }, false)).toBe(false);
  expect(countFree(slots)).toEqual([SIZE, 3 * SIZE, SIZE]);
  for (const kind of KINDS) expect(slots.listWaiting(kind, false)).toEqual(['a']);
});

test('an application alone leaves as many slow attempts as it has', () => {
  const slots = new Slots(SIZE);
  expect(hang(slots, 'a', true)).toBe(2 * SIZE);
  expect(slots.countFree('unproven')).toBe(2 * SIZE);
  const alone = new Slots(SIZE);
  expect(startTurns(alone, 'a', 'unproven', 1, true)).toHaveLength(2 * SIZE);
});

test('many applications whose endpoints hang leave slots of each kind to another', () => {
  const slots = new Slots(SIZE);
  // Quick attempts become slow when all applications have begun theirs.
  for (let second = 0; second < 15; second++) {
    const batches = Array.from({ length: 10 }, (_, at) => startTurns(slots, `hanging-${at}`, 'quick', 32, true));
    for (const batch of batches.flat()) batch.slowDown();
  }
  const another = { applicationId: 'another', kind: 'quick' } as const;
  expect(slots.hasTurn(another, false)).toBe(true);
  expect(slots.countFree('quick')).toBeGreaterThanOrEqual(SIZE / 4);
});

test('the endpoints that hang of one application do not take the part that are left to those of another', () => {
  const slots = new Slots(SIZE);
  startTurns(slots, 'a', 'unproven', 1);
  const batch = slots.take({ applicationId: 'b', kind: 'unproven', webhookId: 'b', batchSize: 32 });
  expect([batch.count, batch.hasRoom()]).toEqual([32, true]);
});

test('the last quarter of the slots is for applications without attempts', () => {
  const slots = new Slots(SIZE);
  expect([sum(startTurns(slots, 'a', 'quick')), sum(startTurns(slots, 'b', 'quick'))]).toEqual([64, 32]);
  expect(sum(startTurns(slots, 'a', 'quick')) + sum(startTurns(slots, 'b', 'quick'))).toBe(0);
  expect(startTurns(slots, 'c', 'quick', 1)).toHaveLength(1);
});

test('the endpoints that fail of one application leave attempts to those of others', () => {
  const slots = new Slots(SIZE);
  expect(startTurns(slots, 'a', 'failing', 1, true)).toHaveLength(SIZE / 2);
  expect(startTurns(slots, 'b', 'failing', 1, true)).toHaveLength(SIZE / 4);
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
