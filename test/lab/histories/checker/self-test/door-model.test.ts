/** The model of doors takes correct answers, and none that two devices, an undo or a deletion make impossible. */
import { expect, test } from 'vitest';
import { doorModel } from '../door-model.ts';
import { findViolation } from '../linearize.ts';
import type { Answer, DoorScan, Input, Operation, Outcome } from '../operation.ts';

type Told = readonly [outcome: string, reason?: string, gate?: string];

/** Calls one after the other, unless they are given times. */
function history(
  ...calls: readonly (readonly [method: string, input: Input, outcome: Outcome, at?: number | undefined])[]
) {
  return calls.map(([method, input, outcome, at], index): Operation => {
    const calledAt = at ?? index * 10;
    const returnedAt = outcome === 'unknown' ? Number.POSITIVE_INFINITY : calledAt + 5;
    const rpc = `EventService/${method}`;
    return { id: String(index), rpc, subject: 'door e', replica: 0, input, calledAt, returnedAt, outcome };
  });
}

const scan = (scanId: string, attendeeId: string, alreadyAdmitted = false): DoorScan => ({
  scanId,
  attendeeId,
  alreadyAdmitted,
});
const told = (...results: readonly Told[]): { answer: Answer } => ({
  answer: {
    results: results.map(([outcome, reason, gate]) => ({
      outcome,
      ...(reason && { reason }),
      ...(gate && { checkIn: { checkedInAt: '', gate } }),
    })),
  },
});
const upload = (scans: readonly DoorScan[], outcome: Outcome, at?: number) =>
  ['BatchCheckIn', { scans }, outcome, at] as const;
const undo = (outcome: Outcome = { answer: {} }) => ['UndoCheckIn', { attendeeId: 'ada' }, outcome] as const;
const CAME: Told = ['CHECKED_IN', '', 's1'];
const AGAIN: Told = ['ALREADY_CHECKED_IN', '', 's1'];
const NOT_FOUND: Outcome = { refusal: 'Event not found' };
const DELETED = ['DeleteEvent', {}, { answer: {} }] as const;
const ada = [scan('s1', 'ada')];
const adaElsewhere = [scan('s2', 'ada', true)];
const FULL = upload([scan('s8', 'bob'), scan('s9', 'eve')], told(['CHECKED_IN', '', 's8'], ['CHECKED_IN', '', 's9']));

test.each([
  ['a second device', history(upload(ada, told(CAME)), upload(adaElsewhere, told(AGAIN)))],
  ['a repeated upload', history(upload(ada, 'unknown'), upload(ada, told(CAME)))],
  ['the first result after an undo', history(upload(ada, told(CAME)), undo(), upload(ada, told(CAME)))],
  ['a race of two devices', history(upload(adaElsewhere, told(AGAIN), 0), upload(ada, told(CAME), 1))],
  ['a place given back', history(FULL, upload(ada, told(['REFUSED', 'EVENT_FULL'])))],
  ['who is inside', history(FULL, upload(adaElsewhere, told(['CHECKED_IN', 'EVENT_FULL', 's2'])))],
  ['a deletion', history(upload(ada, told(CAME)), DELETED, upload(adaElsewhere, NOT_FOUND))],
  ['a lost deletion', history(['DeleteEvent', {}, 'unknown'], upload(ada, NOT_FOUND))],
])('takes %s', (_, operations) => {
  expect(findViolation(doorModel, operations)).toBeUndefined();
});

test.each([
  ['two first check-ins', history(upload(ada, told(CAME)), upload(adaElsewhere, told(['CHECKED_IN', '', 's2'])))],
  ['another result of the same scan', history(upload(ada, told(CAME)), upload(ada, told(AGAIN)))],
  ['an undo that was forgotten', history(upload(ada, told(CAME)), undo(), upload(adaElsewhere, told(AGAIN)))],
  ['an undo of nothing', history(undo())],
  ['one more than there are places', history(FULL, upload(ada, told(CAME)))],
  ['a refusal while there are places', history(upload(ada, told(['REFUSED', 'EVENT_FULL'])))],
  ['a check-in after the deletion', history(DELETED, upload(ada, told(CAME)))],
  ['a deletion that nobody made', history(upload(ada, NOT_FOUND))],
  ['a list without somebody', history(upload(ada, told(CAME)), ['ListCheckIns', {}, { answer: {} }])],
])('notices %s', (_, operations) => {
  expect(findViolation(doorModel, operations)).toBeDefined();
});
