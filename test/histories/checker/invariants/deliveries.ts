/** Messages: one, delivered at least once, for each change that committed, and none for any other. */
import { answerOf, type Operation, type Violation } from '../operation.ts';
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

export function findDeliveryViolations(
  operations: readonly Operation[],
  log: readonly AuditEvent[],
  received: readonly Message[],
): Violation[] {
  const messages = [...new Map(received.map((message) => [message.id, message])).values()];
  return [...compareWithLog(log, messages), ...findEndingViolations(operations, messages)];
}

function compareWithLog(log: readonly AuditEvent[], messages: readonly Message[]): Violation[] {
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

/** What a call ends has no audit event of its own. */
function findEndingViolations(operations: readonly Operation[], messages: readonly Message[]): Violation[] {
  const counts = count(messages.map(describeMessage));
  const countOf = (type: string, userId: string) => counts.get(`${type} ${userId}`) ?? 0;
  const begun = new Set(messages.filter(({ type }) => type === 'session.created').map(({ data }) => data.userId ?? ''));
  const ofSessions = [...begun].flatMap((userId) => {
    const [created, revoked] = [countOf('session.created', userId), countOf('session.revoked', userId)];
    const details = `session.revoked ${userId}: ${created} begun, ${revoked} told`;
    // A user has one session at a time, which here no other than a revocation ends.
    if (revoked < created - 1) return [{ rule: 'a change was not delivered', details }];
    return revoked > created ? [{ rule: 'a message tells of no change', details }] : [];
  });
  const deactivations = Map.groupBy(
    operations.filter(({ rpc }) => rpc === 'AdminService/DeactivateUser'),
    (operation) => operation.subject.slice(operation.subject.indexOf(' ') + 1),
  );
  const ofUsers = [...deactivations].flatMap(([userId, calls]) => {
    const instants = new Set(calls.flatMap((call) => answerOf(call)?.user?.deactivatedAt ?? []));
    const told = countOf('user.deactivated', userId);
    const details = `user.deactivated ${userId}: ${instants.size} acknowledged, ${told} told`;
    if (told < instants.size) return [{ rule: 'a change was not delivered', details }];
    return told > calls.length ? [{ rule: 'a message tells of no change', details }] : [];
  });
  return [...ofSessions, ...ofUsers];
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
