/** The sign-ins of a user that browsers remember. */
import type { Model } from './linearize.ts';
import { type Answer, answerOf, type Operation, refusalOf } from './operation.ts';

interface BrowserState {
  readonly isActive: boolean;
  readonly remembered: readonly string[];
}

/** The names of the calls in the audit log. */
export const SIGN_IN = 'POST /login/wallet';
export const CONTINUE = 'POST /login/continue';
export const CONTINUE_SILENTLY = 'GET /oidc/authorize';
export const FORGET = 'POST /login/forget';

export const browserModel: Model<BrowserState> = {
  initial: { isActive: true, remembered: [] },
  apply(state, operation) {
    const apply = APPLY[operation.rpc];
    if (!apply) throw new Error(`The model of browsers lacks ${operation.rpc}`);
    return apply(state, operation, answerOf(operation), refusalOf(operation));
  },
};

type Apply = (
  state: BrowserState,
  operation: Operation,
  answer: Answer | undefined,
  refusal: string | undefined,
) => BrowserState | undefined;

const forget: Apply = (state, { input }, _, refusal) => {
  const remembered = state.remembered.filter((each) => each !== input.remembered);
  return refusal === undefined ? { ...state, remembered } : undefined;
};

const forgetAll: Apply = (state, _, __, refusal) => (refusal === undefined ? { ...state, remembered: [] } : undefined);

/** Without an answer nobody knows whether the login was completed, which changes nothing here. */
const continueLogin: Apply = (state, { input: { remembered = '' } }, answer) =>
  !answer || (answer.active ?? false) === state.remembered.includes(remembered) ? state : undefined;

const APPLY: Readonly<Record<string, Apply>> = {
  [SIGN_IN](state, operation, answer, refusal) {
    if (refusal !== undefined) return state.isActive ? undefined : state;
    // The new sign-in takes the place of the one that the browser has.
    const without = forget(state, operation, answer, refusal);
    if (!without || !answer?.remembered) return without;
    return state.isActive ? { ...without, remembered: [...without.remembered, answer.remembered].sort() } : undefined;
  },
  [CONTINUE]: continueLogin,
  [CONTINUE_SILENTLY]: continueLogin,
  [FORGET]: forget,
  'SessionService/RevokeUserSessions': forgetAll,
  'AdminService/EndUserSessions': forgetAll,
  'AdminService/DeactivateUser': (state, operation, answer, refusal) => {
    const forgotten = forgetAll(state, operation, answer, refusal);
    return forgotten && { ...forgotten, isActive: false };
  },
  'AdminService/ReactivateUser': (state, _, __, refusal) =>
    refusal === undefined ? { ...state, isActive: true } : undefined,
};
