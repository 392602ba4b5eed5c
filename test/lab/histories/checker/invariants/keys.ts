/** API keys: one that is valid is never refused, and one that is revoked is refused 5 s later, by every replica. */
import {
  answerOf,
  describeOperation,
  groupBySubject,
  type Operation,
  refusalOf,
  type Violation,
} from '../operation.ts';

/** `RevokeApiKey`: "It stops working within 5 seconds." */
export const REVOCATION_MS = 5_000;

const REFUSAL = /^Invalid (API|admin) key$/;

export function findKeyViolations(operations: readonly Operation[]): Violation[] {
  const ofOwnKeys = groupBySubject(operations, 'key');
  // All other calls have keys that nobody revokes.
  const refused = operations.filter((operation) => isRefused(operation) && !isUse(operation));
  return [...refused.map(violateRefusal), ...[...ofOwnKeys.values()].flatMap(judgeKey)];
}

function judgeKey(operations: readonly Operation[]): Violation[] {
  const revocations = operations.filter(({ rpc }) => rpc === 'AdminService/RevokeApiKey');
  const revokedFrom = Math.min(...revocations.map(({ calledAt }) => calledAt));
  const revokedAt = Math.min(...revocations.filter(answerOf).map(({ returnedAt }) => returnedAt));
  return operations.filter(isUse).flatMap((use) => {
    if (isRefused(use)) return use.returnedAt < revokedFrom ? [violateRefusal(use)] : [];
    const isLate = use.outcome !== 'unknown' && use.calledAt >= revokedAt + REVOCATION_MS;
    return isLate ? [{ rule: 'a revoked API key works', details: describeOperation(use) }] : [];
  });
}

/** Returns whether the call has the key that it is about. */
function isUse({ rpc, subject }: Operation): boolean {
  return subject.startsWith('key ') && !rpc.startsWith('AdminService/');
}

function isRefused(operation: Operation): boolean {
  return REFUSAL.test(refusalOf(operation) ?? '');
}

function violateRefusal(operation: Operation): Violation {
  return { rule: 'a valid key is refused', details: describeOperation(operation) };
}
