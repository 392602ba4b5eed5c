import type { Fault } from '../fault.ts';

const rules = 'test/contract/check-in-rules.test.ts';

/** The rules of events: window, list and capacity, and scans of devices without a network. */
export const CHECK_IN_RULE_FAULTS: readonly Fault[] = [
  {
    what: 'The capacity is checked without the lock of the event',
    file: 'src/domain/events/lock-event.ts',
    find: 'where ${isOpenEvent} and ${eventLock.exclusive} for no key update`;',
    replace: 'where ${isOpenEvent}`;',
    test: 'test/robustness/races.test.ts',
    title: /^scans that race on two replicas fill exactly the places of an event/,
  },
  {
    what: 'The capacity is checked outside the transaction that fills a place',
    file: 'src/domain/events/lock-event.ts',
    find: `  return transact(async (run) => {
    const [found] = await run(lockEvent, ids);`,
    replace: `  const locked = transact((run) => run(lockEvent, ids));
  return transact(async (run) => {
    const [found] = await locked;`,
    test: 'test/robustness/races.test.ts',
    title: /^scans that race on two replicas fill exactly the places of an event/,
  },
  {
    what: 'A scan that is sent again is decided again',
    file: 'src/domain/events/scan.ts',
    find: 'if (earlier) return earlier;',
    replace: '',
    test: rules,
    title: /^a scan gets its first result again, whatever happened since/,
  },
  {
    what: 'Rules are asked before an existing check-in',
    file: 'src/domain/events/scan.ts',
    find: "if (checkIn) return { scanId, outcome: 'ALREADY_CHECKED_IN', reason: null, checkIn };",
    replace:
      "if (checkIn && !refusalOf(event, scan, admitted.size, now)) return { scanId, outcome: 'ALREADY_CHECKED_IN', reason: null, checkIn };",
    test: rules,
    title: /^UpdateEvent keeps the check-ins beyond a new capacity/,
  },
  {
    what: 'The window is judged by the time of the call',
    file: 'src/domain/events/scan.ts',
    find: 'const at = occurredAt ?? now;',
    replace: 'const at = now;',
    test: rules,
    title: /^the window is judged by the time of the scan/,
  },
  {
    what: 'A device whose clock is a year ahead is believed',
    file: 'src/domain/events/scan.ts',
    find: ' && aheadMs <= MAX_FAST_MS',
    replace: '',
    test: rules,
    title: /^the window refuses a scan whose time is off by 31536000000 ms/,
  },
  {
    what: 'Blocked attendees come in where anyone may',
    file: 'src/domain/events/scan.ts',
    find: 'if (listed?.isBlocked)',
    replace: 'if (isListed && listed?.isBlocked)',
    test: rules,
    title: /^the list blocks attendees of an event that admits anyone/,
  },
  {
    what: 'An undo keeps the place of an attendee',
    file: 'src/domain/events/undo-check-in.ts',
    find: 'checkedIn === null ? null : checkedIn - 1',
    replace: 'checkedIn',
    test: rules,
    title: /^the capacity is given back by an undo/,
  },
  {
    what: 'The copy of a list does not learn of a check-in',
    file: 'src/domain/events/admit-scans.ts',
    find: 'const version = listed ? ++attendeeVersion : null;',
    replace: 'const version = null;',
    test: rules,
    title: /^ListAttendees tells every change since a cursor/,
  },
  {
    what: 'A page of attendees has a cursor of its own',
    file: 'src/domain/events/list-attendees.ts',
    find: "const first = from?.id.split(' ')[0] ?? String(found[0].eventVersion);",
    replace: 'const first = String(found[0].eventVersion);',
    test: rules,
    title: /^ListAttendees gives every page the cursor of the first/,
  },
  {
    what: 'A new capacity ignores those who are checked in already',
    file: 'src/domain/events/lock-event.ts',
    find: 'event.capacity !== null && event.checkedIn === null',
    replace: 'false',
    test: rules,
    title: /^UpdateEvent keeps the check-ins beyond a new capacity/,
  },
];
