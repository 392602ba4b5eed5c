/** The e-mail address of a user, the links that undo its changes, and the sign-ins to the account page. */
import type { Model } from './linearize.ts';
import { answerOf, type Operation, refusalOf } from './operation.ts';

interface AddressState {
  /** Undefined until it is read or changed. */
  readonly email?: string | undefined;
  /** Sign-ins after which the address can be changed. */
  readonly proofs: readonly string[];
  /** The changes, each with the link in the notice to the old address. */
  readonly changes: readonly { readonly from?: string | undefined; readonly to: string; readonly isVoid: boolean }[];
}

/** The names of the calls in the audit log. */
export const SIGN_IN_TO_ACCOUNT = 'POST /login/wallet';
export const CHANGE_ADDRESS = 'POST /account/email/code';
export const UNDO = 'POST /account/undo';

export const addressModel: Model<AddressState> = {
  initial: { proofs: [], changes: [] },
  apply(state, operation) {
    const apply = APPLY[operation.rpc];
    if (!apply) throw new Error(`The model of addresses lacks ${operation.rpc}`);
    return apply(state, operation);
  },
};

type Apply = (state: AddressState, operation: Operation) => AddressState | undefined;

const APPLY: Readonly<Record<string, Apply>> = {
  [SIGN_IN_TO_ACCOUNT]: (state, operation) => {
    if (refusalOf(operation) !== undefined) return undefined;
    const { proof = '' } = operation.input;
    return { ...state, proofs: [...state.proofs, proof].sort() };
  },
  /** A change that waits while every sign-in ends is not stored. */
  [CHANGE_ADDRESS]: (state, operation) => {
    const { email: to = '', proof = '' } = operation.input;
    const mayChange = state.proofs.includes(proof);
    if (refusalOf(operation) !== undefined) return mayChange ? undefined : state;
    if (!mayChange) return answerOf(operation) ? undefined : state;
    return { ...state, email: to, changes: [...state.changes, { from: state.email, to, isVoid: false }] };
  },
  /** The first use of a link voids that of its change and of all later ones. A void one still works after a first click. */
  [UNDO]: (state, operation) => {
    const at = state.changes.findIndex(({ to }) => to === operation.input.email);
    const change = state.changes[at];
    const isUsable = change !== undefined && (!change.isVoid || change.from === state.email);
    if (refusalOf(operation) !== undefined) return isUsable ? undefined : state;
    if (!isUsable) return answerOf(operation) ? undefined : state;
    const changes = state.changes.map((each, index) => (index < at ? each : { ...each, isVoid: true }));
    return { email: change.from, proofs: [], changes };
  },
  'AdminService/GetUser': (state, operation) => {
    const email = answerOf(operation)?.user?.email;
    if (email === undefined) return undefined;
    return state.email === undefined || state.email === email ? { ...state, email } : undefined;
  },
  'AdminService/EndUserSessions': (state, operation) =>
    refusalOf(operation) === undefined ? { ...state, proofs: [] } : undefined,
};
