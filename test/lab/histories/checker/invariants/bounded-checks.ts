/**
 * CheckSession with a bound: a session that was ended longer ago than the bound is not active, and one that nobody has
 * begun to end is. A caller learns the ID of a session when it has begun.
 */
import { answerOf, describeOperation, groupBySubject, type Operation, type Violation } from '../operation.ts';
import { EXPIRE } from '../session-model.ts';

/** The same in the memory of a service, which asks Usher what has ended, and knows of an expiry from the answer it has. */
export const CHECK_IN_MEMORY = 'SessionChecks/CheckSession';

const ENDINGS = /^(SessionService\/Revoke|AdminService\/DeactivateUser$|RecoveryService\/Use$|SQL\/Expire$)/;

export function findBoundedCheckViolations(operations: readonly Operation[]): Violation[] {
  return [...groupBySubject(operations, 'session').values()].flatMap((ofUser) => {
    const checks = ofUser.filter(({ rpc, input }) => /\/CheckSession$/.test(rpc) && input.maxStalenessMs !== 0);
    return checks.flatMap((check) => judgeCheck(check, ofUser));
  });
}

function judgeCheck(check: Operation, ofUser: readonly Operation[]): Violation[] {
  const answer = answerOf(check);
  const { sessionId, maxStalenessMs = 0 } = check.input;
  if (!answer) return [];
  const knownAt = Math.min(
    ...ofUser.filter((operation) => answerOf(operation)?.session?.id === sessionId).map(({ returnedAt }) => returnedAt),
  );
  const endings = ofUser.filter(({ rpc }) => ENDINGS.test(rpc));
  // The revocation of another session ends this one only where that one is a live relative.
  const ofThis = endings.filter(({ input }) => input.sessionId === undefined || input.sessionId === sessionId);
  if (answer.active) {
    const end = ofThis.find(
      (ending) =>
        answerOf(ending) &&
        (ending.rpc !== EXPIRE || check.rpc !== CHECK_IN_MEMORY) &&
        ending.calledAt > knownAt &&
        ending.returnedAt + maxStalenessMs < check.calledAt,
    );
    return end ? violate('a session is active later than its bound after its end', end, check) : [];
  }
  const mayHaveEnded = endings.some(({ calledAt }) => calledAt < check.returnedAt);
  return mayHaveEnded ? [] : violate('a live session is not active', check);
}

function violate(rule: string, ...operations: readonly Operation[]): Violation[] {
  return [{ rule, details: operations.map(describeOperation).join('\n') }];
}
