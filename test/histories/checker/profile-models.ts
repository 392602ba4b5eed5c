/** The row of a user, and that of a webhook. */
import type { Model } from './linearize.ts';
import { type Answer, answerOf, type Operation, refusalOf } from './operation.ts';

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
  /** The updates that have changed the row and not yet read it: see `splitUpdates`. */
  readonly unread: readonly string[];
}

/** A webhook. */
export const webhookModel: Model<WebhookState> = {
  initial: { isThere: false, formerKeys: [], unread: [] },
  apply(state, operation) {
    const { id, rpc, input } = operation;
    const answer = answerOf(operation);
    const unread = state.unread.filter((update) => update !== id);
    if (refusalOf(operation) !== undefined) {
      return refusalOf(operation) === 'Webhook not found' && !state.isThere ? state : undefined;
    }
    switch (rpc) {
      case 'WebhookService/CreateWebhook':
        return {
          ...{ isThere: true, description: input.description, isActive: true, unread },
          ...{ signingKey: answer?.webhook?.signingKey ?? UNTOLD, formerKeys: [] },
        };
      case 'WebhookService/UpdateWebhook':
        if (!state.isThere) return answer ? undefined : state;
        return { ...state, ...input, unread: answer ? [...unread, id].sort() : unread };
      case 'WebhookService/DeleteWebhook':
        if (!state.isThere && answer) return undefined;
        return { isThere: false, formerKeys: [], unread };
      case 'WebhookService/RotateSigningKey': {
        if (!state.isThere) return answer ? undefined : state;
        const { signingKey: former = UNTOLD } = state;
        const formerKeys = former === UNTOLD ? state.formerKeys : [...state.formerKeys, former].sort();
        const rotated = { ...state, signingKey: UNTOLD, formerKeys };
        return answer ? show(answer, rotated) : rotated;
      }
      case READ_OF_UPDATE:
        if (unread.length === state.unread.length) return undefined;
        return show(answer, { ...state, unread });
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

/** The second statement of UpdateWebhook. */
const READ_OF_UPDATE = 'WebhookService/GetWebhook after UpdateWebhook';

/** UpdateWebhook changes the row, and then reads it in another statement. What it does not find may have been changed. */
export function splitUpdates(operations: readonly Operation[]): Operation[] {
  return operations.flatMap((operation): Operation[] => {
    if (operation.rpc !== 'WebhookService/UpdateWebhook' || operation.outcome === 'unknown') return [operation];
    const write: Operation =
      refusalOf(operation) === undefined
        ? operation
        : { ...operation, outcome: 'unknown', returnedAt: Number.POSITIVE_INFINITY };
    return [write, { ...operation, rpc: READ_OF_UPDATE, input: {} }];
  });
}
