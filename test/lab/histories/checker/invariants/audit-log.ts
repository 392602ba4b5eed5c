/** The audit log row by row: each acknowledged change has its audit event, and each audit event its change. */
import { SIGN_IN_BY_PROVIDER } from '../browser-model.ts';
import { TOKEN } from '../grant-model.ts';
import { answerOf, describeOperation, isRead, type Operation, type Violation } from '../operation.ts';
import { EXPIRE } from '../session-model.ts';

export interface AuditEvent {
  readonly action: string;
  readonly resource: string;
  readonly requestId: string;
}

/** Whose success is always a change. The others may find nothing to do. */
const ALWAYS_CHANGES =
  /\/(CreateEvent|DeleteEvent|UndoCheckIn|CreateUser|UpdateUser|CreateWebhook|DeleteWebhook|RotateSigningKey|CreateApiKey|CompleteLogin|CreateRecoveryLink|Use)$/;

export function findAuditViolations(all: readonly Operation[], log: readonly AuditEvent[]): Violation[] {
  const operations = all.filter(({ rpc }) => !rpc.startsWith('SQL/'));
  const byRequest = Map.groupBy(log, ({ requestId }) => requestId);
  const byId = new Map(operations.map((operation) => [operation.id, operation]));
  const expirations = all.filter(({ rpc }) => rpc === EXPIRE);
  const ofOperations = operations.flatMap((operation) => {
    const isExpired = expirations.some((step) => step.subject === operation.subject && overlaps(step, operation));
    return judgeOperation(operation, byRequest.get(operation.id) ?? [], isExpired);
  });
  const strange = log.filter(({ requestId, action }) => byId.get(requestId)?.rpc !== action);
  return [
    ...ofOperations,
    ...strange.map((event) => ({ rule: 'an audit event has no call', details: JSON.stringify(event) })),
  ];
}

function overlaps(one: Operation, other: Operation): boolean {
  return one.calledAt <= other.returnedAt && other.calledAt <= one.returnedAt;
}

/** @param isExpired whether the session has expired during the call, which then notes a sign-in and begins a session */
function judgeOperation(operation: Operation, events: readonly AuditEvent[], isExpired: boolean): Violation[] {
  const details = describeOperation(operation);
  const isCode = operation.rpc === TOKEN && operation.input.rotation === undefined;
  // A code has an event for its sign-in, and one if that is a later one of a live session. A link has one of its own.
  const mayHaveTwo = isCode || isExpired || operation.rpc === SIGN_IN_BY_PROVIDER;
  if (events.length > (mayHaveTwo ? 2 : 1)) return [{ rule: 'a call has two audit events', details }];
  const [event] = events;
  const answer = answerOf(operation);
  if (event && isRead(operation)) return [{ rule: 'a read has an audit event', details }];
  if (event && !answer && operation.outcome !== 'unknown' && !mayChangeAndFail(operation)) {
    return [{ rule: 'a refused call has an audit event', details }];
  }
  const isRepeatedCheckIn = answer?.alreadyCheckedIn === true;
  if (event && isRepeatedCheckIn) return [{ rule: 'a call that changes nothing has an audit event', details }];
  const changes =
    ALWAYS_CHANGES.test(operation.rpc) ||
    (operation.rpc === 'EventService/CheckIn' && !isRepeatedCheckIn) ||
    isCode ||
    // Each description is new; the activity may be what it was.
    (operation.rpc === 'WebhookService/UpdateWebhook' && operation.input.description !== undefined);
  if (!event && answer && changes) return [{ rule: 'an acknowledged change has no audit event', details }];
  return [];
}

/**
 * An exchange that has noted a later sign-in finds its session in a second statement, before which the session may have
 * been ended. And a replaced refresh token ends its grant, and is refused.
 */
function mayChangeAndFail({ rpc }: Operation): boolean {
  return rpc === 'AuthService/ExchangeToken' || rpc === TOKEN;
}

/** What the log tells of calls without an answer: they took effect, before the end of the history, or did not. */
export function resolveUnknown(
  operations: readonly Operation[],
  log: readonly AuditEvent[],
  endsAt: number,
): Operation[] {
  const committed = new Set(log.map(({ requestId }) => requestId));
  return operations.flatMap((operation) => {
    if (operation.outcome !== 'unknown') return [operation];
    if (committed.has(operation.id)) return [{ ...operation, returnedAt: endsAt }];
    return isUntold(operation) ? [operation] : [];
  });
}

/** Returns whether a call without an answer may have changed something without an audit event: an account is linked before the sign-in. */
function isUntold({ rpc, input }: Operation): boolean {
  if (rpc.startsWith('SQL/') || rpc === SIGN_IN_BY_PROVIDER) return true;
  return rpc === TOKEN && input.rotation !== undefined;
}
