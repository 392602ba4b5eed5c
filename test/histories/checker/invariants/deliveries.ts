/** Messages: one, delivered at least once, for each change that committed, and none for any other. */
import type { Violation } from '../operation.ts';
import type { AuditEvent } from './audit-log.ts';

export interface Message {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly [field in 'id' | 'eventId' | 'attendeeId' | 'userId']?: string };
}

/** What each change that has an audit event is told as. */
const TYPES: Readonly<Record<string, string>> = {
  'EventService/CreateEvent': 'event.created',
  'EventService/DeleteEvent': 'event.deleted',
  'EventService/CheckIn': 'check_in.created',
  'EventService/UndoCheckIn': 'check_in.undone',
  'AuthService/ExchangeToken': 'session.created',
  'AdminService/UpdateUser': 'user.updated',
  'AdminService/ReactivateUser': 'user.updated',
};

export function findDeliveryViolations(log: readonly AuditEvent[], received: readonly Message[]): Violation[] {
  const messages = [...new Map(received.map((message) => [message.id, message])).values()];
  const told = count(messages.filter(({ type }) => Object.values(TYPES).includes(type)).map(describeMessage));
  const committed = count(log.flatMap(({ action, resource }) => (TYPES[action] ? `${TYPES[action]} ${resource}` : [])));
  const changes = new Set([...told.keys(), ...committed.keys()]);
  return [...changes].flatMap((change) => {
    const [expected, actual] = [committed.get(change) ?? 0, told.get(change) ?? 0];
    const details = `${change}: ${expected} committed, ${actual} told`;
    if (actual < expected) return [{ rule: 'a change was not delivered', details }];
    return actual > expected ? [{ rule: 'a message tells of no change', details }] : [];
  });
}

/** Returns what a message tells, as `check_in.created <event>/<attendee>`. */
function describeMessage({ type, data: { id, userId, eventId, attendeeId } }: Message): string {
  return `${type} ${[id ?? userId ?? eventId, attendeeId].filter(Boolean).join('/')}`;
}

function count(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}
