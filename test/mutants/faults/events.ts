import type { Fault } from '../fault.ts';

const events = 'test/contract/events.test.ts';
const race = 'test/domain/events/check-in-race.test.ts';
const audit = 'test/contract/audit-log.test.ts';

/** Events, check-ins and the audit log of changes. */
export const EVENT_FAULTS: readonly Fault[] = [
  {
    what: 'A check-in does not lock its event',
    file: 'src/domain/events/event.ts',
    find: ' and ${eventLock.shared} for share',
    replace: '',
    test: race,
    title: /^a check-in waits for a delete that has not committed, and is refused/,
  },
  {
    what: 'Somebody checks in to a deleted event',
    file: 'src/domain/events/event.ts',
    find: 'and deleted_at is null',
    replace: '',
    test: events,
    title: /DeleteEvent deletes an event and keeps its row, and lets nobody check in/,
  },
  {
    what: 'A repeated check-in has a new time',
    file: 'src/domain/events/check-in.ts',
    find: 'do update set is_repeated = true',
    replace: 'do update set is_repeated = true, checked_in_at = excluded.checked_in_at',
    test: events,
    title: /CheckIn admits an attendee, and the second time returns the first/,
  },
  {
    what: 'The ID of a deleted event is given out again',
    file: 'src/domain/events/create-event.ts',
    find: 'on conflict do nothing',
    replace: 'on conflict (application_id, id) do update set deleted_at = null',
    test: events,
    title: /CreateEvent returns AlreadyExists/,
  },
  {
    what: 'UndoCheckIn removes every check-in of the event',
    file: 'src/domain/events/undo-check-in.ts',
    find: "and attendee_id = ${p.text('attendeeId')}",
    replace: '',
    test: events,
    title: /UndoCheckIn returns 404 for an attendee who is not checked in, and leaves the others/,
  },
  {
    what: 'DeleteEvent has no event in the audit log',
    file: 'src/domain/events/delete-event.ts',
    find: '${auditEvent({ resource: sql`id`, from: sql`deleted` })},',
    replace: '',
    test: audit,
    title: /^DeleteEvent has an event that says/,
  },
  {
    what: 'A repeated check-in has an event in the audit log',
    file: 'src/domain/events/check-in.ts',
    find: 'auditEvent({ resource: checkInResource, from: sql`created` })',
    replace: 'auditEvent({ resource: checkInResource, from: sql`checked_in` })',
    test: audit,
    title: /^A call that changes nothing has no event/,
  },
  {
    what: 'The audit log shows the events of every application',
    file: 'src/domain/audit/list-audit-events.ts',
    find: ': sql`application_id = ${application}`',
    replace: ': sql`${application} is not null`',
    test: audit,
    title: /returns the events of one application/,
  },
  {
    what: 'The last row of a page is the first of the next one',
    file: 'src/domain/pages/list.ts',
    find: '(${at}, ${id}) < (',
    replace: '(${at}, ${id}) <= (',
    test: 'test/contract/lists.test.ts',
    title: /^ListEvents returns every item once/,
  },
  {
    what: 'A page skips rows of one millisecond',
    file: 'src/domain/pages/list.ts',
    find: "(${at}, ${id}) < (${p.instant('afterAt')}, ${p.of(id, 'afterId')})",
    replace: "${at} < ${p.instant('afterAt')} and ${id}::text is distinct from ${p.of(id, 'afterId')}::text",
    test: 'test/contract/lists.test.ts',
    title: /^ListEvents returns every item once/,
  },
  {
    what: 'The last page has a token',
    file: 'src/domain/pages/read-page.ts',
    find: 'found.length > size',
    replace: 'found.length >= size',
    test: 'test/contract/lists.test.ts',
    title: /says so when a page is the last, even if it is full/,
  },
];
