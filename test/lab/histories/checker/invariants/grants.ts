/**
 * Access tokens: one whose grant was ended more than 5 s ago is not active, and one whose grant nobody has begun to end
 * is. And logout tokens: one tells of each grant that has ended, and none of one that nobody has begun to end.
 */
import { REVOKE, TOKEN } from '../grant-model.ts';
import { answerOf, describeOperation, groupBySubject, type Operation, type Violation } from '../operation.ts';
import { USE_LINK } from '../recovery-model.ts';

export const USERINFO = 'GET /oidc/userinfo';

/** What the README of the API says of tokens: "within 5 seconds". */
const BOUND_MS = 5_000;

const ENDS_ONE: ReadonlySet<string> = new Set([REVOKE, 'SessionService/EndGrant', 'AdminService/EndUserGrant']);
const ENDS_ALL: ReadonlySet<string> = new Set([
  ...['SessionService/RevokeUserSessions', 'AdminService/EndUserSessions', 'AdminService/DeactivateUser'],
  USE_LINK,
]);

export interface LogoutToken {
  readonly sub: string;
  /** The ID of the grant, as no browser of a history has signed in on the page of Usher. */
  readonly sid?: string;
}

export function findGrantViolations(operations: readonly Operation[], tokens: readonly LogoutToken[]): Violation[] {
  return [...groupBySubject(operations, 'grant')].flatMap(([subject, ofUser]) => {
    const told = new Set(tokens.filter(({ sub }) => subject === `grant ${sub}`).map(({ sid }) => sid));
    const byGrant = Map.groupBy(ofUser, ({ input }) => input.grantId);
    return [...byGrant].flatMap(([grantId, ofGrant]) => {
      if (grantId === undefined) return [];
      const endings = ofUser.filter(
        ({ rpc, input }) => ENDS_ALL.has(rpc) || (ENDS_ONE.has(rpc) && input.grantId === grantId),
      );
      const begun = ofGrant.find((operation) => isRedemption(operation) && answerOf(operation));
      return [
        ...ofGrant.filter(({ rpc }) => rpc === USERINFO).flatMap((use) => judgeUse(use, ofGrant, endings, begun)),
        ...judgeLogout(told.has(grantId), endings, begun, ofGrant),
      ];
    });
  });
}

function isRedemption({ rpc, input }: Operation): boolean {
  return rpc === TOKEN && input.rotation === undefined;
}

/** A replaced refresh token ends its grant. */
function mayEnd(operation: Operation): boolean {
  return operation.rpc === TOKEN && operation.input.rotation !== undefined && !answerOf(operation);
}

function judgeUse(
  use: Operation,
  ofGrant: readonly Operation[],
  endings: readonly Operation[],
  begun: Operation | undefined,
): Violation[] {
  const answer = answerOf(use);
  if (!answer || !begun) return [];
  if (answer.active) {
    const end = endings.find(
      (ending) => answerOf(ending) && ending.calledAt > begun.returnedAt && ending.returnedAt + BOUND_MS < use.calledAt,
    );
    return end ? violate('an access token is active 5 s after the end of its grant', end, use) : [];
  }
  const mayHaveEnded = [...endings, ...ofGrant.filter(mayEnd)].some(({ calledAt }) => calledAt < use.returnedAt);
  return mayHaveEnded ? [] : violate('a live access token is not active', use);
}

function judgeLogout(
  isTold: boolean,
  endings: readonly Operation[],
  begun: Operation | undefined,
  ofGrant: readonly Operation[],
): Violation[] {
  if (isTold) {
    return endings.length > 0 || ofGrant.some(mayEnd)
      ? []
      : violate('a logout token tells of no end', ...ofGrant.slice(0, 1));
  }
  const end = endings.find((ending) => answerOf(ending) && begun && ending.calledAt > begun.returnedAt);
  if (!end || !begun) return [];
  return violate('the end of a grant was not told', begun, end);
}

function violate(rule: string, ...operations: readonly Operation[]): Violation[] {
  return [{ rule, details: operations.map(describeOperation).join('\n') }];
}
