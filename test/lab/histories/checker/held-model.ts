/** A user with an authenticator app, ten recovery codes, and the sign-ins that wait for their second step. */
import type { Model } from './linearize.ts';
import { type Answer, answerOf, type Operation, refusalOf } from './operation.ts';

interface HeldState {
  readonly isActive: boolean;
  readonly isErased: boolean;
  readonly hasApp: boolean;
  /** The time step of the last code. */
  readonly lastStep: number;
  /** The recovery codes that are left, by number. */
  readonly codes: readonly number[];
  readonly held: readonly string[];
  /** Held sign-ins that were completed. Their browsers get the answer again. */
  readonly done: readonly string[];
  /** Codes that somebody has entered while something ended the sign-in: they may be used up. */
  readonly doubtful: readonly string[];
}

/** The names of the calls in the audit log. */
export const FIRST_STEP = 'POST /login/wallet';
export const BY_APP = 'POST /login/second-factor';
export const BY_RECOVERY = 'POST /login/second-factor/recovery';

/** Each user has used up an older code of the app before the history begins. */
export const heldModel: Model<HeldState> = {
  initial: {
    ...{ isActive: true, isErased: false, hasApp: true, lastStep: 0 },
    ...{ codes: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], held: [], done: [], doubtful: [] },
  },
  apply(state, operation) {
    const apply = APPLY[operation.rpc];
    if (!apply) throw new Error(`The model of held sign-ins lacks ${operation.rpc}`);
    const refusal = refusalOf(operation);
    if (operation.rpc.startsWith('AdminService/') && (state.isErased || refusal !== undefined))
      return state.isErased && (refusal ?? 'User not found') === 'User not found' && !answerOf(operation)
        ? state
        : undefined;
    return apply(state, operation, answerOf(operation), refusal);
  },
};

type Apply = (
  state: HeldState,
  operation: Operation,
  answer: Answer | undefined,
  refusal: string | undefined,
) => HeldState | undefined;

const end: Apply = (state) => ({ ...state, held: [] });

const takeSecondStep =
  (use: (state: HeldState, number: number) => HeldState | undefined): Apply =>
  (state, { rpc, input: { held = '', code = 0 } }, answer) => {
    if (state.done.includes(held)) return state;
    const used = use(state, code);
    const isHeld = state.hasApp && state.held.includes(held);
    const isRight = isHeld && used !== undefined;
    if (answer?.active || (isRight && !answer)) {
      return isRight ? { ...used, held: without(state.held, held), done: [...state.done, held].sort() } : undefined;
    }
    if (isRight) return isDoubtful(state, rpc, code) ? state : undefined;
    return isHeld || !used ? state : { ...state, doubtful: [...new Set([...state.doubtful, `${rpc} ${code}`])].sort() };
  };

const APPLY: Readonly<Record<string, Apply>> = {
  /** Of a refused one nobody knows whether something has ended it before its page was shown. It is not recorded. */
  [FIRST_STEP](state, { input: { held = '' } }, answer) {
    const isAsked = state.isActive && state.hasApp;
    if (!answer) return state;
    if (answer.active) return state.isActive && !state.hasApp ? state : undefined;
    return isAsked ? { ...state, held: [...state.held, held].sort() } : undefined;
  },
  [BY_APP]: takeSecondStep((state, number) => (number > state.lastStep ? { ...state, lastStep: number } : undefined)),
  [BY_RECOVERY]: takeSecondStep((state, number) =>
    state.codes.includes(number) ? { ...state, codes: without(state.codes, number) } : undefined,
  ),
  'AdminService/GetSecondFactor': (state, _, answer) =>
    answer && (answer.secondFactor !== undefined) === state.hasApp ? state : undefined,
  'SessionService/RevokeUserSessions': (state, operation, answer, refusal) =>
    refusal === undefined ? end(state, operation, answer, refusal) : undefined,
  'AdminService/EndUserSessions': end,
  'AdminService/UpdateUser': end,
  'AdminService/DeactivateUser': (state) => ({ ...state, held: [], isActive: false }),
  'AdminService/ReactivateUser': (state) => ({ ...state, isActive: true }),
  'AdminService/ResetSecondFactor': (state) => ({ ...state, held: [], hasApp: false }),
  'AdminService/EraseUser': (state) => ({ ...state, held: [], hasApp: false, isActive: false, isErased: true }),
};

function without<T>(values: readonly T[], value: T): readonly T[] {
  return values.filter((each) => each !== value);
}

/** A later code of the app uses up the earlier ones. */
function isDoubtful({ doubtful }: HeldState, rpc: string, code: number): boolean {
  return doubtful.some((each) => {
    const number = Number(each.slice(rpc.length + 1));
    return each.startsWith(`${rpc} `) && (rpc === BY_APP ? number >= code : number === code);
  });
}
