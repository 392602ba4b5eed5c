/** Lists contain what was there before the call and has not been removed, and nothing that was not there. */
import { type Answer, answerOf, describeOperation, type Operation, type Violation } from '../operation.ts';

interface Kind {
  readonly list: string;
  readonly create: string;
  /** Nothing removes API keys: revoked ones are listed. */
  readonly remove?: string;
  readonly read: (answer: Answer) => readonly string[];
}

const KINDS: readonly Kind[] = [
  {
    list: 'EventService/ListEvents',
    create: 'EventService/CreateEvent',
    remove: 'EventService/DeleteEvent',
    read: ({ events = [] }) => events.map(({ eventId }) => eventId),
  },
  {
    list: 'WebhookService/ListWebhooks',
    create: 'WebhookService/CreateWebhook',
    remove: 'WebhookService/DeleteWebhook',
    read: ({ webhooks = [] }) => webhooks.map(({ webhookId }) => webhookId),
  },
  {
    list: 'AdminService/ListApiKeys',
    create: 'AdminService/CreateApiKey',
    read: ({ apiKeys = [] }) => apiKeys.map(({ apiKeyId }) => apiKeyId),
  },
];

export function findListViolations(operations: readonly Operation[]): Violation[] {
  return KINDS.flatMap((kind) => {
    const items = findItems(kind, operations);
    const lists = operations.filter(({ rpc, subject }) => rpc === kind.list && subject.startsWith('list '));
    return lists.flatMap((list) => judgeList(kind, items, list));
  });
}

interface Item {
  readonly id: string;
  /** It can be there from its creation's call, and has to be from its return. */
  readonly mayFrom: number;
  readonly mustFrom: number;
  readonly mustTo: number;
  readonly mayTo: number;
}

function findItems({ create, remove }: Kind, operations: readonly Operation[]): Item[] {
  const bySubject = Map.groupBy(operations, ({ subject }) => subject);
  return [...bySubject].flatMap(([subject, all]) => {
    const creations = all.filter(({ rpc }) => rpc === create);
    const removals = all.filter(({ rpc }) => rpc === remove);
    if (creations.length === 0) return [];
    return {
      id: subject.slice(subject.indexOf(' ') + 1),
      mayFrom: earliest(creations.map(({ calledAt }) => calledAt)),
      mustFrom: earliest(creations.filter(answerOf).map(({ returnedAt }) => returnedAt)),
      mustTo: earliest(removals.map(({ calledAt }) => calledAt)),
      mayTo: earliest(removals.filter(answerOf).map(({ returnedAt }) => returnedAt)),
    };
  });
}

function judgeList({ list, read }: Kind, items: readonly Item[], operation: Operation): Violation[] {
  const answer = answerOf(operation);
  if (!answer) return [];
  const listed = new Set(read(answer));
  const { calledAt, returnedAt } = operation;
  const violate = (rule: string, { id }: Item) => [
    { rule: `${list} ${rule}`, details: `${id}: ${describeOperation({ ...operation, outcome: 'unknown' })}` },
  ];
  return items.flatMap((item) => {
    if (!listed.has(item.id)) {
      return item.mustFrom < calledAt && returnedAt < item.mustTo ? violate('lacks what is there', item) : [];
    }
    return returnedAt < item.mayFrom || item.mayTo < calledAt ? violate('has what is not there', item) : [];
  });
}

function earliest(instants: readonly number[]): number {
  return Math.min(...instants);
}
