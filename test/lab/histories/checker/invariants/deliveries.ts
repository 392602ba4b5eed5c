/** Messages: one, delivered at least once, for each change that committed, and none for any other. */
import { answerOf, groupBySubject, type Operation, type Violation } from '../operation.ts';
import { EXPIRE } from '../session-model.ts';
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
  'AdminService/UpdateUser': 'user.updated',
  'AdminService/ReactivateUser': 'user.updated',
};

export function findDeliveryViolations(
  operations: readonly Operation[],
  log: readonly AuditEvent[],
  received: readonly Message[],
): Violation[] {
  const messages = [...new Map(received.map((message) => [message.id, message])).values()];
  return [
    ...compareWithLog(log, messages),
    ...findSessionViolations(operations, log, messages),
    ...findDeactivationViolations(operations, messages),
  ];
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

/**
 * An audit event of an exchange may stand for a later sign-in of a live session, and one of a revocation for nothing. But
 * a user has one session at a time, which here nothing but a revocation or an expiry ends.
 */
function findSessionViolations(
  operations: readonly Operation[],
  log: readonly AuditEvent[],
  messages: readonly Message[],
): Violation[] {
  const told = count(messages.map(describeMessage));
  const exchanges = count(log.flatMap(({ action, resource }) => (action.endsWith('/ExchangeToken') ? [resource] : [])));
  return [...groupBySubject(operations, 'session')].flatMap(([subject, ofUser]) => {
    const userId = subject.slice('session '.length);
    const created = told.get(`session.created ${userId}`) ?? 0;
    const revoked = told.get(`session.revoked ${userId}`) ?? 0;
    const details = `session of ${userId}: ${created} times told to begin, ${revoked} times to end`;
    // No message tells of an expiry.
    const expired = ofUser.filter(({ rpc }) => rpc === EXPIRE).length;
    if (created < countBegun(ofUser) || revoked < created - 1 - expired)
      return [{ rule: 'a change was not delivered', details }];
    const isTooOften = created > (exchanges.get(userId) ?? 0) || revoked > created;
    return isTooOften ? [{ rule: 'a message tells of no change', details }] : [];
  });
}

/** Returns how many sessions have begun at least, besides successors. */
function countBegun(ofUser: readonly Operation[]): number {
  const idsOf = (rpc: string) =>
    ofUser.filter((operation) => operation.rpc === rpc).flatMap((operation) => answerOf(operation)?.session?.id ?? []);
  const renewals = ofUser.filter(({ rpc }) => rpc === 'SessionService/RenewSession');
  const successors = new Set(
    renewals.flatMap((renewal) => {
      const id = answerOf(renewal)?.session?.id;
      return id !== undefined && id !== renewal.input.sessionId ? id : [];
    }),
  );
  const begun = new Set(idsOf('AuthService/ExchangeToken').filter((id) => !successors.has(id)));
  return begun.size - renewals.filter(({ outcome }) => outcome === 'unknown').length;
}

function findDeactivationViolations(operations: readonly Operation[], messages: readonly Message[]): Violation[] {
  const told = count(messages.map(describeMessage));
  const deactivations = Map.groupBy(
    operations.filter(({ rpc }) => rpc === 'AdminService/DeactivateUser'),
    ({ subject }) => subject.slice(subject.indexOf(' ') + 1),
  );
  return [...deactivations].flatMap(([userId, calls]) => {
    const instants = new Set(calls.flatMap((call) => answerOf(call)?.user?.deactivatedAt ?? []));
    const times = told.get(`user.deactivated ${userId}`) ?? 0;
    const details = `user.deactivated ${userId}: ${instants.size} acknowledged, ${times} told`;
    if (times < instants.size) return [{ rule: 'a change was not delivered', details }];
    return times > calls.length ? [{ rule: 'a message tells of no change', details }] : [];
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
