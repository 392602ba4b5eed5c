/** Everything that the checker knows to be wrong with a history. */
import { addressModel, CHANGE_ADDRESS } from './address-model.ts';
import { browserModel } from './browser-model.ts';
import { eventModel } from './event-model.ts';
import { addEndsByReuse, grantModel } from './grant-model.ts';
import { type AuditEvent, findAuditViolations, resolveUnknown } from './invariants/audit-log.ts';
import { findBoundedCheckViolations } from './invariants/bounded-checks.ts';
import { findDeliveryViolations, type Message } from './invariants/deliveries.ts';
import { findGrantViolations, type LogoutToken, USERINFO } from './invariants/grants.ts';
import { findKeyViolations } from './invariants/keys.ts';
import { findListViolations } from './invariants/lists.ts';
import { findSignatureViolations, type SignedMessage } from './invariants/signatures.ts';
import { findViolation, type Model } from './linearize.ts';
import { answerOf, describeOperation, groupBySubject, type Operation, refusalOf, type Violation } from './operation.ts';
import { userModel, webhookModel } from './profile-models.ts';
import { addLateEnds } from './recovery-model.ts';
import { sessionModel } from './session-model.ts';

export interface History {
  readonly operations: readonly Operation[];
  /** The audit events of these operations. */
  readonly log: readonly AuditEvent[];
  /** What an endpoint that subscribes to everything has received. */
  readonly messages: readonly Message[];
  /** What the endpoint of back-channel logout has received. */
  readonly logoutTokens: readonly LogoutToken[];
  /** What the endpoint of the webhooks whose keys are rotated has received. */
  readonly signedMessages: readonly SignedMessage[];
  /** The new addresses of which notices have told the old ones. */
  readonly notices: readonly string[];
  /** When nothing that has begun could still take effect. */
  readonly endsAt: number;
}

/** Returns all violations. Without any, the history is one that a single correct Usher could have had. */
export function judge({
  operations,
  log,
  messages,
  logoutTokens,
  signedMessages,
  notices,
  endsAt,
}: History): Violation[] {
  return [
    ...findRowViolations(operations, log, endsAt),
    ...findKeyViolations(operations),
    ...findListViolations(operations),
    ...findBoundedCheckViolations(operations),
    ...findGrantViolations(operations, logoutTokens),
    ...findSignatureViolations(operations, signedMessages),
    ...findUntoldChanges(operations, notices),
    ...findAuditViolations(operations, log),
    ...findDeliveryViolations(...withMessages(operations, log), messages),
  ];
}

/** Users of OpenID Connect have signed in to an application without a webhook, so no message tells of them. */
function withMessages(operations: readonly Operation[], log: readonly AuditEvent[]): [Operation[], AuditEvent[]] {
  const ids = new Set(
    operations.filter(({ subject }) => /^(grant|browser|address) /.test(subject)).map(({ id }) => id),
  );
  return [operations.filter(({ id }) => !ids.has(id)), log.filter(({ requestId }) => !ids.has(requestId))];
}

function findRowViolations(operations: readonly Operation[], log: readonly AuditEvent[], endsAt: number): Violation[] {
  // A refused key says nothing of the row: `findKeyViolations`.
  const admitted = operations.filter((operation) => !/^Invalid (API|admin) key$/.test(refusalOf(operation) ?? ''));
  const resolved = addLateEnds(resolveUnknown(admitted, log, endsAt));
  const sessions = resolved.filter(({ rpc, input }) => !/\/CheckSession$/.test(rpc) || input.maxStalenessMs === 0);
  const grants = resolved.filter(({ rpc }) => rpc !== USERINFO);
  return [
    ...searchAll(eventModel, groupBySubject(resolved, 'event')),
    ...searchAll(userModel, groupBySubject(resolved, 'user')),
    ...searchAll(webhookModel, groupBySubject(resolved, 'webhook')),
    ...searchAll(sessionModel, groupBySubject(sessions, 'session')),
    ...searchAll(grantModel, groupBySubject(addEndsByReuse(grants), 'grant')),
    ...searchAll(browserModel, groupBySubject(resolved, 'browser')),
    ...searchAll(addressModel, groupBySubject(resolved, 'address')),
  ];
}

function searchAll<State>(model: Model<State>, rows: ReadonlyMap<string, readonly Operation[]>): Violation[] {
  return [...rows.values()].flatMap((row) => findViolation(model, row) ?? []);
}

/** Returns a violation for each change of an address whose old one got no notice. */
export function findUntoldChanges(operations: readonly Operation[], notices: readonly string[]): Violation[] {
  const untold = operations.filter(
    (operation) =>
      operation.rpc === CHANGE_ADDRESS && answerOf(operation) && !notices.includes(operation.input.email ?? ''),
  );
  return untold.map((change) => ({
    rule: 'a change of an address was not told to the old one',
    details: describeOperation(change),
  }));
}
