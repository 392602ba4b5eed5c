/** The row of a user, and that of a webhook. */
import type { Model } from './linearize.ts';
import { type Answer, answerOf, refusalOf } from './operation.ts';

interface UserState {
  readonly name?: string | undefined;
  /** Undefined while the user can sign in; `?` if the call that deactivated got no answer. */
  readonly deactivatedAt?: string | undefined;
}

/** A user who is created before the history begins, and stays. */
export const userModel: Model<UserState> = {
  initial: {},
  apply(state, operation) {
    const { rpc, input } = operation;
    if (refusalOf(operation) !== undefined) return undefined;
    const answer = answerOf(operation);
    if (answer && !answer.user) return undefined;
    const told = answer?.user;
    const next = changeUser(state, rpc, input.name, told?.deactivatedAt ?? '?');
    if (!told) return next;
    const { deactivatedAt } = next;
    if (told.name !== next.name || (told.deactivatedAt === undefined) !== (deactivatedAt === undefined))
      return undefined;
    if (deactivatedAt !== '?' && told.deactivatedAt !== deactivatedAt) return undefined;
    return { name: next.name, deactivatedAt: told.deactivatedAt };
  },
};

function changeUser(state: UserState, rpc: string, name: string | undefined, deactivatedAt: string): UserState {
  switch (rpc) {
    case 'AdminService/CreateUser':
    case 'AdminService/UpdateUser':
      return { ...state, name };
    case 'AdminService/DeactivateUser':
      return { ...state, deactivatedAt: state.deactivatedAt ?? deactivatedAt };
    case 'AdminService/ReactivateUser':
      return { ...state, deactivatedAt: undefined };
    default:
      return state;
  }
}

interface WebhookState {
  readonly isThere: boolean;
  readonly description?: string | undefined;
  readonly isActive?: boolean | undefined;
  /** `?` if the call that set it got no answer. */
  readonly signingKey?: string | undefined;
  /** Those that were told, without the present one. None comes again. */
  readonly formerKeys: readonly string[];
}

/** A webhook. */
export const webhookModel: Model<WebhookState> = {
  initial: { isThere: false, formerKeys: [] },
  apply(state, operation) {
    const { rpc, input } = operation;
    const answer = answerOf(operation);
    if (refusalOf(operation) !== undefined) {
      return refusalOf(operation) === 'Webhook not found' && !state.isThere ? state : undefined;
    }
    switch (rpc) {
      case 'WebhookService/CreateWebhook':
        return {
          ...{ isThere: true, description: input.description, isActive: true, formerKeys: [] },
          signingKey: answer?.webhook?.signingKey ?? UNTOLD,
        };
      case 'WebhookService/UpdateWebhook':
        if (!state.isThere) return answer ? undefined : state;
        return answer ? show(answer, { ...state, ...input }) : { ...state, ...input };
      case 'WebhookService/DeleteWebhook':
        if (!state.isThere && answer) return undefined;
        return { isThere: false, formerKeys: [] };
      case 'WebhookService/RotateSigningKey': {
        if (!state.isThere) return answer ? undefined : state;
        const { signingKey: former = UNTOLD } = state;
        const formerKeys = former === UNTOLD ? state.formerKeys : [...state.formerKeys, former].sort();
        const rotated = { ...state, signingKey: UNTOLD, formerKeys };
        return answer ? show(answer, rotated) : rotated;
      }
      default:
        return show(answer, state);
    }
  },
};

const UNTOLD = '?';

/** Returns the state with the signing key that is shown, or undefined if the answer shows another webhook. */
function show(answer: Answer | undefined, state: WebhookState): WebhookState | undefined {
  const { description, isActive = false, signingKey } = answer?.webhook ?? {};
  const isShown = state.isThere && description === state.description && isActive === state.isActive;
  const isKey =
    state.signingKey === UNTOLD ? !state.formerKeys.includes(signingKey ?? '') : signingKey === state.signingKey;
  return isShown && isKey ? { ...state, signingKey } : undefined;
}
