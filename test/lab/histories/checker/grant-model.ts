/** The codes and grants of a user at a public client of OpenID Connect. */
import type { Model } from './linearize.ts';
import { type Answer, answerOf, type Operation, refusalOf } from './operation.ts';
import { withRecovery } from './recovery-model.ts';

interface GrantState {
  readonly isActive: boolean;
  /** Logins whose code can be redeemed. A grant gets the ID of its login. */
  readonly codes: readonly string[];
  /** The number of the latest refresh token of each live grant. */
  readonly grants: Readonly<Record<string, number>>;
}

/** The name of the call in the audit log, for codes and for refresh tokens. */
export const TOKEN = 'POST /oidc/token';
export const REVOKE = 'POST /oidc/revoke';
/** A step of the model that is no call: the second statement of a refused refresh, which ends the grant. */
const END_REUSED = 'POST /oidc/token end';

const model: Model<GrantState> = {
  initial: { isActive: true, codes: [], grants: {} },
  apply(state, operation) {
    const apply = APPLY[operation.rpc];
    if (!apply) throw new Error(`The model of grants lacks ${operation.rpc}`);
    return apply(state, operation, answerOf(operation), refusalOf(operation));
  },
};

export const grantModel = withRecovery(model, (state) => ({ ...state, codes: [], grants: {} }));

type Apply = (
  state: GrantState,
  operation: Operation,
  answer: Answer | undefined,
  refusal: string | undefined,
) => GrantState | undefined;

const endGrant: Apply = (state, { input: { grantId = '' } }, _, refusal) => {
  const { [grantId]: __, ...grants } = state.grants;
  return when(refusal === undefined, { ...state, grants });
};

const endAll: Apply = (state, _, __, refusal) => when(refusal === undefined, { ...state, codes: [], grants: {} });

const APPLY: Readonly<Record<string, Apply>> = {
  'AdminService/CompleteLogin': (state, { input: { grantId = '' } }, answer, refusal) => {
    if (refusal !== undefined) return when(refusal === 'User not found' && !state.isActive, state);
    // Without an answer nobody knows the code.
    if (!answer) return state;
    return when(state.isActive, { ...state, codes: [...state.codes, grantId].sort() });
  },
  [TOKEN]: (state, operation, answer, refusal) => {
    if (operation.input.rotation !== undefined) return refresh(state, operation, answer, refusal);
    const { grantId = '' } = operation.input;
    if (!state.codes.includes(grantId)) return when(!answer, state);
    const codes = state.codes.filter((code) => code !== grantId);
    return when(refusal === undefined, { ...state, codes, grants: { ...state.grants, [grantId]: 1 } });
  },
  [END_REUSED]: (state, { input: { grantId = '', rotation = 0 } }) => {
    const { [grantId]: latest, ...grants } = state.grants;
    if (latest === undefined) return state;
    return when(rotation < latest - 1, { ...state, grants });
  },
  [REVOKE]: endGrant,
  'SessionService/EndGrant': endGrant,
  'AdminService/EndUserGrant': endGrant,
  'SessionService/RevokeUserSessions': endAll,
  'AdminService/EndUserSessions': endAll,
  'AdminService/DeactivateUser': (state, operation, answer, refusal) => {
    const ended = endAll(state, operation, answer, refusal);
    return ended && { ...ended, isActive: false };
  },
  'AdminService/ReactivateUser': (state, _, __, refusal) => when(refusal === undefined, { ...state, isActive: true }),
  'AdminService/ListUserGrants': (state, _, answer) => {
    const listed = (answer?.grants ?? []).map(({ grantId }) => grantId).sort();
    return when(answer !== undefined && listed.join() === Object.keys(state.grants).sort().join(), state);
  },
};

/**
 * The token that was replaced last gets the same successor, because its reply may have been lost. An earlier one ends
 * the grant. Histories use no token for so long that the 30 seconds of its replacement end.
 */
function refresh(
  state: GrantState,
  { input: { grantId = '', rotation = 0 } }: Operation,
  answer: Answer | undefined,
  refusal: string | undefined,
): GrantState | undefined {
  const { [grantId]: latest, ...others } = state.grants;
  if (latest === undefined) return when(!answer, state);
  if (rotation === latest) {
    return when(refusal === undefined, { ...state, grants: { ...state.grants, [grantId]: latest + 1 } });
  }
  if (rotation === latest - 1) return when(refusal === undefined, state);
  if (refusal !== undefined) return state;
  return when(!answer, { ...state, grants: others });
}

/**
 * Adds the end of the grant to each refused refresh. A token that was replaced while the call was under way may have
 * arrived before that, and then it ends nothing.
 */
export function addEndsByReuse(operations: readonly Operation[]): Operation[] {
  return operations.flatMap((refused) => {
    const { grantId, rotation } = refused.input;
    if (refused.rpc !== TOKEN || rotation === undefined || refusalOf(refused) === undefined) return [refused];
    const isOvertaken = operations.some(
      ({ rpc, input, outcome, calledAt, returnedAt }) =>
        rpc === TOKEN &&
        input.grantId === grantId &&
        (input.rotation ?? 0) > rotation &&
        (outcome === 'unknown' || 'answer' in outcome) &&
        calledAt <= refused.returnedAt &&
        returnedAt >= refused.calledAt,
    );
    const returnedAt = isOvertaken ? Number.POSITIVE_INFINITY : refused.returnedAt;
    return [refused, { ...refused, id: `${refused.id} end`, rpc: END_REUSED, outcome: 'unknown' as const, returnedAt }];
  });
}

function when(isSo: boolean, state: GrantState): GrantState | undefined {
  return isSo ? state : undefined;
}
