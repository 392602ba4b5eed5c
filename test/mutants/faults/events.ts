import { type Fault, inFolder } from '../fault.ts';

const events = 'test/contract/events.test.ts';
const race = 'test/domain/events/check-in-race.test.ts';
const audit = 'test/contract/audit-log.test.ts';

/** Events, check-ins and the audit log of changes. */
export const EVENT_FAULTS: readonly Fault[] = inFolder('src/domain', [
  {
    what: 'A check-in does not lock its event',
    file: 'events/event.ts',
    find: ".where(isOpenEvent(eventLock.shared))\n    .for('share');",
    replace: '.where(isOpenEvent());',
    test: race,
    title: /^a check-in waits for a delete that has not committed, and is refused/,
  },
  {
    what: 'Somebody checks in to a deleted event',
    file: 'events/event.ts',
    find: 'isNull(events.deletedAt),',
    replace: '',
    test: events,
    title: /DeleteEvent deletes an event and keeps its row, and lets nobody check in/,
  },
  {
    what: 'A repeated check-in has a new time',
    file: 'events/check-in.ts',
    find: 'set: { isRepeated: sql`true` },',
    replace: 'set: { isRepeated: sql`true`, checkedInAt: sql`excluded.checked_in_at` },',
    test: events,
    title: /CheckIn admits an attendee, and the second time returns the first/,
  },
  {
    what: 'The ID of a deleted event is given out again',
    file: 'events/create-event.ts',
    find: '.onConflictDoNothing()',
    replace: '.onConflictDoUpdate({ target: [events.applicationId, events.id], set: { deletedAt: null } })',
    test: events,
    title: /CreateEvent returns AlreadyExists/,
  },
  {
    what: 'UndoCheckIn removes every check-in of the event',
    file: 'events/undo-check-in.ts',
    find: "eq(checkIns.attendeeId, sql.placeholder('attendeeId')),",
    replace: '',
    test: events,
    title: /UndoCheckIn returns 404 for an attendee who is not checked in, and leaves the others/,
  },
  {
    what: 'DeleteEvent has no event in the audit log',
    file: 'events/delete-event.ts',
    find: 'db.with(locked, deleted, audit, message)',
    replace: 'db.with(locked, deleted, message)',
    test: audit,
    title: /^DeleteEvent has an event that says/,
  },
  {
    what: 'A repeated check-in has an event in the audit log',
    file: 'events/check-in.ts',
    find: 'from: sql`checked_in where not is_repeated` });',
    replace: 'from: sql`checked_in` });',
    test: audit,
    title: /^A call that changes nothing has no event/,
  },
  {
    what: 'The audit log shows the events of every application',
    file: 'audit/list-audit-events.ts',
    find: "pageOf(db, eq(auditEvents.applicationId, sql.placeholder('applicationId')))",
    replace: 'pageOf(db)',
    test: audit,
    title: /returns the events of one application/,
  },
  {
    what: 'The last row of a page is the first of the next one',
    file: 'pages/read-page.ts',
    find: "(${at}, ${id}) < (${instantPlaceholder('afterAt')}, ${sql.placeholder('afterId')})",
    replace: "(${at}, ${id}) <= (${instantPlaceholder('afterAt')}, ${sql.placeholder('afterId')})",
    test: 'test/contract/lists.test.ts',
    title: /^ListEvents returns every item once/,
  },
  {
    what: 'A page skips rows of one millisecond',
    file: 'pages/read-page.ts',
    find: "sql`(${at}, ${id}) < (${instantPlaceholder('afterAt')}, ${sql.placeholder('afterId')})`",
    replace: "sql`${at} < ${instantPlaceholder('afterAt')} and ${id}::text <> ${sql.placeholder('afterId')}::text`",
    test: 'test/contract/lists.test.ts',
    title: /^ListEvents returns every item once/,
  },
  {
    what: 'The last page has a token',
    file: 'pages/read-page.ts',
    find: 'found.length > size',
    replace: 'found.length >= size',
    test: 'test/contract/lists.test.ts',
    title: /says so when a page is the last, even if it is full/,
  },
]);
