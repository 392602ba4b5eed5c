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
    find: 'if (earlier) return { scanId',
    replace: 'if (false) return { scanId',
    test: rules,
    title: /^a scan gets its first result again, whatever happened since/,
  },
  {
    what: 'A scan with the ID of another scan lets in another attendee, who is not recorded',
    file: 'src/domain/events/scan.ts',
    find: 'if (earlier && earlier.attendeeId !== attendeeId)',
    replace: 'if (false)',
    test: rules,
    title: /^a scan with the ID of a scan of another attendee is refused alone/,
  },
  {
    what: 'A scan is not looked for among those that were refused or undone',
    file: 'src/domain/events/admit-scans.ts',
    find: 'if (isUniqueViolation(error)) return admit(true);',
    replace: '',
    test: rules,
    title: /^a scan gets its first result again, whatever happened since/,
  },
  {
    what: 'A row that an index of a Citus worker refuses fails the call',
    file: 'src/database/errors.ts',
    find: 'return isUnnamed || sqlStateOf',
    replace: 'return sqlStateOf',
    test: 'test/database/errors.test.ts',
    title: /is a violation/,
  },
  {
    what: 'A text is written to an array as JSON escapes it',
    file: 'src/database/template.ts',
    find: '/\\\\[^"\\\\]/.test(json) ? toArray(values, quote) : ',
    replace: '',
    test: rules,
    title: /^a scan keeps every character of its texts/,
  },
  {
    what: 'Rules are asked before an existing check-in',
    file: 'src/domain/events/scan.ts',
    find: "if (checkIn) return { scanId, outcome: 'ALREADY_CHECKED_IN', reason: null, checkIn };",
    replace:
      "if (checkIn && !refusalOf(event, scan, { listed, admitted: admitted.size, now })) return { scanId, outcome: 'ALREADY_CHECKED_IN', reason: null, checkIn };",
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
    what: 'Postgres may look an attendee up by reading the whole list',
    file: 'src/domain/events/attendee.ts',
    find: `attendee_id >= \${attendeeId}
    and (attendee_id, event_id) <= (\${attendeeId}, \${p.text('eventId')})
  order by attendee_id limit 1`,
    replace: 'attendee_id = ${attendeeId} limit 1',
    test: 'test/robustness/check-in-cost.test.ts',
    title: /^a batch reads as much of a long list as of a short one/,
  },
  {
    what: 'A transaction may keep a plan that reads a whole table',
    file: 'src/database/connection-settings.ts',
    find: 'set local enable_seqscan = off; set local enable_sort = off',
    replace: 'set local enable_seqscan = on; set local enable_sort = on',
    test: 'test/robustness/check-in-cost.test.ts',
    title: /^a batch reads as much of a long list as of a short one/,
  },
  {
    what: 'A transaction may search each instant and sort',
    file: 'src/database/connection-settings.ts',
    find: '; set local enable_sort = off',
    replace: '',
    test: 'test/database/connections.test.ts',
    title: /^a transaction prefers indexes/,
  },
  {
    what: 'A transaction begins without its settings',
    file: 'src/database/connection-settings.ts',
    find: '; ${PREFER_INDEXES}`);',
    replace: '`);',
    test: 'test/database/connections.test.ts',
    title: /^a transaction prefers indexes/,
  },
  {
    what: 'Postgres may read the whole list to change what a batch has checked in',
    file: 'src/domain/events/admit-scans.ts',
    find: `    insert into attendees (application_id, event_id, attendee_id, label, is_blocked, version, changed_at)
    select \${p.uuid('applicationId')}, \${p.text('eventId')}, attendee_id, '', false, version, \${p.instant('now')}
    from decided where version is not null
    on conflict (application_id, event_id, attendee_id)
      do update set version = excluded.version, changed_at = excluded.changed_at`,
    replace: `    update attendees a set version = decided.version, changed_at = \${p.instant('now')} from decided
    where a.application_id = \${p.uuid('applicationId')} and a.event_id = \${p.text('eventId')}
      and a.attendee_id = decided.attendee_id and decided.version is not null`,
    test: 'test/robustness/check-in-cost.test.ts',
    title: /^a batch reads as much of a long list as of a short one/,
  },
  {
    what: 'The copy of a list does not learn of a check-in',
    file: 'src/domain/events/admit-scans.ts',
    find: 'stored.versions.push(isNew && listed ? ++stored.attendeeVersion : null);',
    replace: 'stored.versions.push(null);',
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
