/** The ways in which a user can sign in on the login page, and the sign-ins that browsers remember. */
import type { Model } from './linearize.ts';
import { type Answer, answerOf, type Operation, refusalOf } from './operation.ts';
import { withRecovery } from './recovery-model.ts';

interface BrowserState {
  readonly isActive: boolean;
  readonly remembered: readonly string[];
  /** Sign-ins, and used recovery links, after which a passkey can still be added. */
  readonly proofs: readonly string[];
  readonly passkeys: readonly string[];
  /** Whether an account at the provider is linked: undefined if no answer tells. */
  readonly isLinked?: boolean | undefined;
}

/** The names of the calls in the audit log. */
export const SIGN_IN = 'POST /login/wallet';
export const SIGN_IN_BY_PASSKEY = 'POST /login/passkey';
export const SIGN_IN_BY_PROVIDER = 'GET /login/callback/*';
export const ADD_PASSKEY = 'POST /login/passkey/new';
export const CONTINUE = 'POST /login/continue';
export const CONTINUE_SILENTLY = 'GET /oidc/authorize';
export const FORGET = 'POST /login/forget';

const model: Model<BrowserState> = {
  initial: { isActive: true, remembered: [], proofs: [], passkeys: [], isLinked: false },
  apply(state, operation) {
    const apply = APPLY[operation.rpc];
    if (!apply) throw new Error(`The model of browsers lacks ${operation.rpc}`);
    return apply(state, operation, answerOf(operation), refusalOf(operation));
  },
};

export const browserModel = withRecovery(model, (state, { link = '', removes = [] }) => ({
  ...{ ...state, remembered: [], proofs: [link] },
  passkeys: removes.includes('PASSKEYS') ? [] : state.passkeys,
  isLinked: removes.includes('IDENTITIES') ? false : state.isLinked,
}));

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

const endAll: Apply = (state, _, __, refusal) =>
  refusal === undefined ? { ...state, remembered: [], proofs: [] } : undefined;

/** Without an answer nobody knows whether the login was completed, which changes nothing here. */
const continueLogin: Apply = (state, { input: { remembered = '' } }, answer) =>
  !answer || (answer.active ?? false) === state.remembered.includes(remembered) ? state : undefined;

const APPLY: Readonly<Record<string, Apply>> = {
  [SIGN_IN](state, operation, answer, refusal) {
    if (refusal !== undefined) return state.isActive ? undefined : state;
    return signIn(state, operation, answer);
  },
  [SIGN_IN_BY_PASSKEY](state, operation, answer, refusal) {
    const isKnown = state.isActive && state.passkeys.includes(operation.input.passkey ?? '');
    if (refusal !== undefined) return isKnown ? undefined : state;
    return answer && !isKnown ? undefined : signIn(state, operation, answer);
  },
  /** An account is linked before the login is completed, which a deactivation or the end of the link may prevent. */
  [SIGN_IN_BY_PROVIDER](state, operation, answer, refusal) {
    const linked = { ...state, isLinked: answer ? true : state.isLinked || undefined };
    return refusal === undefined ? signIn(linked, operation, answer) : linked;
  },
  [ADD_PASSKEY](state, { input: { passkey = '', proof = '' } }, answer, refusal) {
    const mayAdd = state.isActive && state.proofs.includes(proof);
    if (refusal !== undefined) return mayAdd ? undefined : state;
    if (!mayAdd) return answer ? undefined : state;
    return { ...state, passkeys: [...state.passkeys, passkey].sort() };
  },
  'AdminService/ListPasskeys': (state, _, answer) => {
    const listed = (answer?.passkeys ?? []).map(({ aaguid }) => aaguid).sort();
    return answer && listed.join() === state.passkeys.join() ? state : undefined;
  },
  'AdminService/DeletePasskey': (state, { input: { passkey = '' } }, _, refusal) => {
    const passkeys = state.passkeys.filter((each) => each !== passkey);
    const isKnown = passkeys.length < state.passkeys.length;
    if (refusal !== undefined) return refusal === 'Passkey not found' && !isKnown ? state : undefined;
    return isKnown ? { ...state, passkeys } : undefined;
  },
  'AdminService/ListUserIdentities': (state, _, answer) => {
    const isLinked = (answer?.identities ?? []).length > 0;
    return answer && (state.isLinked ?? isLinked) === isLinked ? { ...state, isLinked } : undefined;
  },
  'AdminService/DeleteUserIdentity': (state, _, __, refusal) =>
    refusal === undefined ? { ...state, isLinked: false } : undefined,
  [CONTINUE]: continueLogin,
  [CONTINUE_SILENTLY]: continueLogin,
  [FORGET]: forget,
  'SessionService/RevokeUserSessions': endAll,
  'AdminService/EndUserSessions': endAll,
  'AdminService/DeactivateUser': (state, operation, answer, refusal) => {
    const ended = endAll(state, operation, answer, refusal);
    return ended && { ...ended, isActive: false };
  },
  'AdminService/ReactivateUser': (state, _, __, refusal) =>
    refusal === undefined ? { ...state, isActive: true } : undefined,
};

/** The new sign-in takes the place of the one that the browser has. */
function signIn(state: BrowserState, operation: Operation, answer: Answer | undefined): BrowserState | undefined {
  const without = forget(state, operation, answer, undefined);
  if (!without || !answer?.remembered) return without;
  const { proof } = operation.input;
  const proofs = proof === undefined ? state.proofs : [...state.proofs, proof].sort();
  const remembered = [...without.remembered, answer.remembered].sort();
  return state.isActive ? { ...without, proofs, remembered } : undefined;
}
