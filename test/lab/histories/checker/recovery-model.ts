/** The recovery links of a user, around the model of what their use ends. */
import type { Model } from './linearize.ts';
import { answerOf, type Input, type Operation, refusalOf } from './operation.ts';

interface Recoverable<State> {
  readonly own: State;
  /** The link that can be used; `?` if nobody has been told its ID. */
  readonly openLink?: string | undefined;
}

export const MAKE_LINK = 'AdminService/CreateRecoveryLink';
export const REVOKE_LINK = 'AdminService/RevokeRecoveryLink';
/** The name of the call in the audit log. */
export const USE_LINK = 'RecoveryService/Use';
/** A step of the model that is no call: the second statement of a use. */
const END_LATE = 'RecoveryService/EndLate';

const UNTOLD = '?';

/** @param recover what the use of a link leaves */
export function withRecovery<State extends { readonly isActive: boolean }>(
  model: Model<State>,
  recover: (state: State, input: Input) => State,
): Model<Recoverable<State>> {
  return {
    initial: { own: model.initial },
    apply(state, operation) {
      const { rpc, input } = operation;
      const { own, openLink } = state;
      const [answer, refusal] = [answerOf(operation), refusalOf(operation)];
      const isUsable = own.isActive && openLink === input.link;
      switch (rpc) {
        case MAKE_LINK:
          if (!own.isActive) return answer || (refusal ?? 'User not active') !== 'User not active' ? undefined : state;
          return refusal === undefined ? { own, openLink: answer?.recoveryLink?.recoveryLinkId ?? UNTOLD } : undefined;
        case REVOKE_LINK:
          if (refusal !== undefined) return undefined;
          return openLink === input.link ? { own } : state;
        case USE_LINK:
          // One without an answer that the audit log tells of has taken effect. Any other may as well never be.
          if (!isUsable) return refusal === undefined ? undefined : state;
          return refusal === undefined ? { own: recover(own, input) } : undefined;
        case END_LATE:
          return openLink === input.link ? undefined : { ...state, own: recover(own, input) };
        default: {
          const next = model.apply(own, operation);
          return next && { ...state, own: next };
        }
      }
    },
  };
}

/**
 * Adds the second statement of each use, which ends once more what the first could not see. So what begins during the
 * call may end with it, even after somebody has seen that what was there before is gone.
 */
export function addLateEnds(operations: readonly Operation[]): Operation[] {
  return operations.flatMap((operation) => {
    if (operation.rpc !== USE_LINK || refusalOf(operation) !== undefined) return [operation];
    // Without an answer it may never have run.
    const returnedAt = answerOf(operation) ? operation.returnedAt : Number.POSITIVE_INFINITY;
    return [operation, { ...operation, id: `${operation.id} late`, rpc: END_LATE, returnedAt }];
  });
}
