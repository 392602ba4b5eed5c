/** An event with its check-ins. */
import type { Model } from './linearize.ts';
import { type Answer, answerOf, type Operation, refusalOf } from './operation.ts';

interface EventState {
  readonly status: 'absent' | 'live' | 'deleted';
  readonly name?: string | undefined;
  readonly createdAt?: string;
  /** When each attendee was checked in. */
  readonly checkIns: Readonly<Record<string, string>>;
}

/** A value that Usher has chosen in an answer that nobody got. The first read tells it. */
const UNTOLD = '?';

export const eventModel: Model<EventState> = {
  initial: { status: 'absent', checkIns: {} },
  apply(state, operation) {
    const apply = APPLY[operation.rpc];
    if (!apply) throw new Error(`The model of events lacks ${operation.rpc}`);
    return apply(state, operation, answerOf(operation), refusalOf(operation));
  },
};

type Apply = (
  state: EventState,
  operation: Operation,
  answer: Answer | undefined,
  refusal: string | undefined,
) => EventState | undefined;

const APPLY: Readonly<Record<string, Apply>> = {
  'EventService/CreateEvent': (state, { input: { name } }, answer, refusal) => {
    if (refusal !== undefined) return when(refusal === 'Event already exists' && state.status !== 'absent', state);
    if (state.status !== 'absent') return answer ? undefined : state;
    return { status: 'live', name, createdAt: answer?.event?.createdAt ?? UNTOLD, checkIns: {} };
  },
  'EventService/GetEvent': (state, _, answer, refusal) => {
    if (state.status !== 'live') return when(refusal === 'Event not found', state);
    const createdAt = learn(state.createdAt, answer?.event?.createdAt);
    return when(answer?.event?.name === state.name && createdAt !== undefined, {
      ...state,
      createdAt: createdAt ?? '',
    });
  },
  'EventService/DeleteEvent': (state, _, answer, refusal) => {
    if (refusal !== undefined) return when(refusal === 'Event not found' && state.status !== 'live', state);
    if (state.status !== 'live') return answer ? undefined : state;
    return { status: 'deleted', checkIns: {} };
  },
  'EventService/CheckIn': (state, { input: { attendeeId = '' } }, answer, refusal) => {
    if (refusal !== undefined) return when(refusal === 'Event not found' && state.status !== 'live', state);
    if (state.status !== 'live') return answer ? undefined : state;
    const before = state.checkIns[attendeeId];
    if (!answer) return before ? state : withCheckIn(state, attendeeId, UNTOLD);
    if ((answer.alreadyCheckedIn ?? false) !== (before !== undefined)) return undefined;
    const told = answer.checkIn?.checkedInAt;
    const at = before === undefined ? told : learn(before, told);
    return at === undefined ? undefined : withCheckIn(state, attendeeId, at);
  },
  'EventService/UndoCheckIn': (state, { input: { attendeeId = '' } }, answer, refusal) => {
    const isCheckedIn = attendeeId in state.checkIns;
    if (refusal === 'Event not found') return when(state.status !== 'live', state);
    if (refusal !== undefined) {
      return when(refusal === 'Check-in not found' && state.status === 'live' && !isCheckedIn, state);
    }
    if (!isCheckedIn) return answer ? undefined : state;
    const { [attendeeId]: _, ...others } = state.checkIns;
    return { ...state, checkIns: others };
  },
  'EventService/ListCheckIns': (state, _, answer, refusal) => {
    if (state.status !== 'live') return when(refusal === 'Event not found', state);
    if (!answer) return undefined;
    const listed = answer.checkIns ?? [];
    if (listed.length !== Object.keys(state.checkIns).length) return undefined;
    let learned = state;
    for (const { attendeeId, checkedInAt } of listed) {
      const at = learn(state.checkIns[attendeeId], checkedInAt);
      if (at === undefined) return undefined;
      learned = withCheckIn(learned, attendeeId, at);
    }
    return learned;
  },
};

function when(isSo: boolean, state: EventState): EventState | undefined {
  return isSo ? state : undefined;
}

/** Returns the value if it can be the one that is known. */
function learn(known: string | undefined, told: string | undefined): string | undefined {
  return known === UNTOLD || known === told ? told : undefined;
}

/** The order of the attendees is always the same, so that equal states have equal JSON. */
function withCheckIn(state: EventState, attendeeId: string, at: string): EventState {
  const checkIns = Object.entries({ ...state.checkIns, [attendeeId]: at }).sort(([a], [b]) => (a < b ? -1 : 1));
  return { ...state, checkIns: Object.fromEntries(checkIns) };
}
