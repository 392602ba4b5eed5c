import type { Fault } from '../fault.ts';

const test = 'test/contract/lists.test.ts';
const ofOther = (list: string) => new RegExp(`^${list} .* page token of another event, webhook or application of its`);
const ofFilter = (list: string) => new RegExp(`^${list} .* page token of the list with another filter`);

/** Pages of lists and their tokens. */
export const PAGE_FAULTS: readonly Fault[] = [
  {
    what: 'A page token of another event is accepted',
    file: 'src/domain/pages/list.ts',
    find: '[name, ...Object.values(parameters)]',
    replace: '[name, ...Object.values(of?.(call) ?? {})]',
    test,
    title: ofOther('ListCheckIns'),
  },
  {
    what: 'A page token of another webhook is accepted',
    file: 'src/domain/webhooks/list-deliveries.ts',
    find: "['deliveries', applicationId, webhookId, status,",
    replace: "['deliveries', applicationId, status,",
    test,
    title: ofOther('ListDeliveries'),
  },
  {
    what: 'A page token of deliveries with another status is accepted',
    file: 'src/domain/webhooks/list-deliveries.ts',
    find: "['deliveries', applicationId, webhookId, status, since.getTime()]",
    replace: "['deliveries', applicationId, webhookId, since.getTime()]",
    test,
    title: ofFilter('ListDeliveries'),
  },
  {
    what: 'A page token of sessions of all users is accepted for those of one',
    file: 'src/domain/pages/list.ts',
    find: '[name, ...Object.values(parameters)]',
    replace: '[name, ...Object.values(of?.(call) ?? {})]',
    test,
    title: ofFilter('ListSessions'),
  },
  {
    what: 'A page token of the audit log of another application is accepted',
    file: 'src/domain/pages/list.ts',
    find: '[name, ...Object.values(parameters)]',
    replace: '[name, ...Object.values(of?.(call) ?? {})]',
    test,
    title: ofFilter('ListAuditEvents'),
  },
  {
    what: 'A page token of another application is accepted',
    file: 'src/domain/pages/list.ts',
    find: '[name, ...Object.values(parameters)]',
    replace: '[name, ...Object.values(filters)]',
    test,
    title: /^ListEvents .*of another list or of another application$/,
  },
];
