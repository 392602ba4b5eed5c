/** The sessions and auth tokens of a user in an application. */
import type { Model } from './linearize.ts';
import { type Answer, answerOf, type Operation, refusalOf } from './operation.ts';
import { withRecovery } from './recovery-model.ts';

interface SessionState {
  readonly isActive: boolean;
  /** The live session; `?` if nobody has been told its ID. */
  readonly session?: string | undefined;
  /** Whether a renewal begins a successor. */
  readonly isDue: boolean;
  /** Sessions that have expired, and can be renewed until something ends them. */
  readonly expired: readonly string[];
  /** Live predecessors of the session. */
  readonly predecessors: readonly string[];
  /** The IDs of sessions that have ended. None comes again. */
  readonly ended: readonly string[];
  /** Tokens that can be exchanged. */
  readonly tokens: readonly string[];
}

const UNTOLD = '?';

/** A step of the model that is no call: SQL makes the live session old enough to be renewed. */
export const MAKE_DUE = 'SQL/MakeDue';
/** Another: SQL lets the live session and its predecessors expire. */
export const EXPIRE = 'SQL/Expire';

const model: Model<SessionState> = {
  initial: { isActive: true, isDue: false, expired: [], predecessors: [], ended: [], tokens: [] },
  apply(state, operation) {
    const apply = APPLY[operation.rpc];
    if (!apply) throw new Error(`The model of sessions lacks ${operation.rpc}`);
    return apply(state, operation, answerOf(operation), refusalOf(operation));
  },
};

export const sessionModel = withRecovery(model, endAll);

type Apply = (
  state: SessionState,
  operation: Operation,
  answer: Answer | undefined,
  refusal: string | undefined,
) => SessionState | undefined;

const APPLY: Readonly<Record<string, Apply>> = {
  'AdminService/CompleteLogin': (state, _, answer, refusal) => {
    if (refusal !== undefined) return when(refusal === 'User not found' && !state.isActive, state);
    if (!answer?.authToken) return state;
    return when(state.isActive, { ...state, tokens: [...state.tokens, answer.authToken].sort() });
  },
  'AuthService/ExchangeToken': (state, { input: { authToken = '' } }, answer, refusal) => {
    if (!state.isActive) return when(!answer && (refusal ?? 'User not found') === 'User not found', state);
    if (!state.tokens.includes(authToken)) {
      return when(!answer && (refusal ?? 'Invalid or expired token') === 'Invalid or expired token', state);
    }
    if (refusal !== undefined) return undefined;
    const id = answer?.session?.id;
    if (state.session === undefined) return begin({ ...state, isDue: false }, id ?? UNTOLD);
    return id === undefined ? state : find(state, id);
  },
  'SessionService/RenewSession': (state, { input: { sessionId = '' } }, answer, refusal) => {
    if (!isRenewable(state, sessionId))
      return when(!answer && (refusal ?? 'Session expired') === 'Session expired', state);
    if (refusal !== undefined) return undefined;
    const id = answer?.session?.id;
    if (state.session === undefined) return begin({ ...state, isDue: false }, id ?? UNTOLD);
    if (!state.isDue || state.session !== sessionId) return id === undefined ? state : find(state, id);
    const predecessors = [...state.predecessors, sessionId].sort();
    return begin({ ...state, isDue: false, predecessors }, id ?? UNTOLD);
  },
  'SessionService/CheckSession': (state, { input: { sessionId = '' } }, answer) =>
    when(answer !== undefined && (answer.active ?? false) === isLive(state, sessionId), state),
  'SessionService/ListSessions': (state, _, answer) =>
    when(answer !== undefined && (answer.sessions ?? []).length === (state.session === undefined ? 0 : 1), state),
  'SessionService/RevokeSession': (state, { input: { sessionId = '' } }, _, refusal) => {
    if (refusal !== undefined) return undefined;
    return isRenewable(state, sessionId) ? endAll(state) : state;
  },
  'SessionService/RevokeUserSessions': (state, _, __, refusal) => (refusal === undefined ? endAll(state) : undefined),
  'AdminService/DeactivateUser': (state, _, __, refusal) =>
    refusal === undefined ? { ...endAll(state), isActive: false } : undefined,
  'AdminService/ReactivateUser': (state, _, __, refusal) =>
    refusal === undefined ? { ...state, isActive: true } : undefined,
  [MAKE_DUE]: (state) => ({ ...state, isDue: state.session !== undefined }),
  [EXPIRE]: (state) => ({
    ...{ ...state, session: undefined, isDue: false, predecessors: [] },
    expired: [...new Set([...state.expired, ...toldOf(state)])].sort(),
  }),
};

function when(isSo: boolean, state: SessionState): SessionState | undefined {
  return isSo ? state : undefined;
}

function isLive({ session, predecessors }: SessionState, id: string): boolean {
  return session === id || predecessors.includes(id);
}

function isRenewable(state: SessionState, id: string): boolean {
  return isLive(state, id) || state.expired.includes(id);
}

/** Begins a session, whose ID must be new. */
function begin(state: SessionState, id: string): SessionState | undefined {
  const { ended, expired, predecessors } = state;
  return when(![...ended, ...expired, ...predecessors].includes(id), { ...state, session: id });
}

/** Returns the state in which the live session has the ID. */
function find(state: SessionState, id: string): SessionState | undefined {
  return state.session === UNTOLD ? begin(state, id) : when(state.session === id, state);
}

/** Returns the known IDs of the live session and its predecessors. */
function toldOf({ session, predecessors }: SessionState): string[] {
  return session === undefined || session === UNTOLD ? [...predecessors] : [...predecessors, session];
}

function endAll(state: SessionState): SessionState {
  const ended = [...new Set([...state.ended, ...state.expired, ...toldOf(state)])].sort();
  return { isActive: state.isActive, isDue: false, expired: [], predecessors: [], ended, tokens: [] };
}
