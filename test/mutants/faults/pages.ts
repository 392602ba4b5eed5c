import { type Fault, inFolder } from '../fault.ts';

const test = 'test/contract/lists.test.ts';
const ofOther = (list: string) => new RegExp(`^${list} .* page token of another event, webhook or application of its`);
const ofFilter = (list: string) => new RegExp(`^${list} .* page token of the list with another filter`);

/** Pages of lists and their tokens. */
export const PAGE_FAULTS: readonly Fault[] = inFolder('src/domain', [
  {
    what: 'A page token of another event is accepted',
    file: 'events/list-check-ins.ts',
    find: "['check-ins', application.id, eventId]",
    replace: "['check-ins', application.id]",
    test,
    title: ofOther('ListCheckIns'),
  },
  {
    what: 'A page token of another webhook is accepted',
    file: 'webhooks/list-deliveries.ts',
    find: "['deliveries', applicationId, webhookId, status,",
    replace: "['deliveries', applicationId, status,",
    test,
    title: ofOther('ListDeliveries'),
  },
  {
    what: 'A page token of deliveries with another status is accepted',
    file: 'webhooks/list-deliveries.ts',
    find: "['deliveries', applicationId, webhookId, status, since.getTime()]",
    replace: "['deliveries', applicationId, webhookId, since.getTime()]",
    test,
    title: ofFilter('ListDeliveries'),
  },
  {
    what: 'A page token of sessions of all users is accepted for those of one',
    file: 'sessions/list-sessions.ts',
    find: "['sessions', application.id, userId]",
    replace: "['sessions', application.id]",
    test,
    title: ofFilter('ListSessions'),
  },
  {
    what: 'A page token of the audit log of another application is accepted',
    file: 'audit/list-audit-events.ts',
    find: "['audit-events', applicationId]",
    replace: "['audit-events']",
    test,
    title: ofFilter('ListAuditEvents'),
  },
  {
    what: 'A page token of another application is accepted',
    file: 'events/list-events.ts',
    find: "['events', application.id]",
    replace: "['events']",
    test,
    title: /^ListEvents .*of another list or of another application$/,
  },
]);
