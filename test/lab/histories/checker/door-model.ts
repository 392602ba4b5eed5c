/** An event with a capacity at whose doors devices scan: who is inside by which scan, and the result of each scan. */
import type { Model } from './linearize.ts';
import { answerOf, type DoorScan, type Operation, refusalOf } from './operation.ts';

export const CAPACITY = 2;

interface DoorState {
  readonly isDeleted: boolean;
  /** The gate of the scan that has checked each attendee in. Every scan has a gate of its own. */
  readonly inside: Readonly<Record<string, string>>;
  readonly results: Readonly<Record<string, string>>;
}

/** The event exists before the first call of a history. */
export const doorModel: Model<DoorState> = {
  initial: { isDeleted: false, inside: {}, results: {} },
  apply(state, operation) {
    const apply = APPLY[operation.rpc];
    if (!apply) throw new Error(`The model of doors lacks ${operation.rpc}`);
    const refusal = refusalOf(operation);
    if (state.isDeleted || refusal === 'Event not found') {
      return state.isDeleted && !answerOf(operation) ? state : undefined;
    }
    return apply(state, operation, refusal);
  },
};

type Apply = (state: DoorState, operation: Operation, refusal: string | undefined) => DoorState | undefined;

const APPLY: Readonly<Record<string, Apply>> = {
  'EventService/BatchCheckIn': (state, operation, refusal) => {
    if (refusal !== undefined) return undefined;
    const { scans = [] } = operation.input;
    const after = scans.reduce(decide, state);
    const told = answerOf(operation)?.results?.map(({ outcome, reason = '', checkIn }) =>
      describe(outcome, reason, checkIn?.gate),
    );
    const expected = scans.map(({ scanId }) => after.results[scanId]);
    return told === undefined || JSON.stringify(told) === JSON.stringify(expected) ? after : undefined;
  },
  'EventService/UndoCheckIn': (state, { input: { attendeeId = '' } }, refusal) => {
    const { [attendeeId]: gate, ...inside } = state.inside;
    if (refusal !== undefined) return refusal === 'Check-in not found' && gate === undefined ? state : undefined;
    return gate === undefined ? undefined : { ...state, inside };
  },
  'EventService/DeleteEvent': (_, __, refusal) =>
    refusal === undefined ? { isDeleted: true, inside: {}, results: {} } : undefined,
  'EventService/ListCheckIns': (state, operation) => {
    const listed = answerOf(operation)?.checkIns ?? [];
    const inside = sortKeys(Object.fromEntries(listed.map(({ attendeeId, gate = '' }) => [attendeeId, gate])));
    return JSON.stringify(inside) === JSON.stringify(state.inside) ? state : undefined;
  },
};

/** By the documented order: the first result, the first check-in, the capacity, unless the attendee is inside already. */
function decide(state: DoorState, { scanId, attendeeId, alreadyAdmitted }: DoorScan): DoorState {
  if (state.results[scanId] !== undefined) return state;
  const keep = (result: string, inside = state.inside) => ({
    ...state,
    inside: sortKeys(inside),
    results: sortKeys({ ...state.results, [scanId]: result }),
  });
  const gate = state.inside[attendeeId];
  if (gate !== undefined) return keep(describe('ALREADY_CHECKED_IN', '', gate));
  const reason = Object.keys(state.inside).length >= CAPACITY ? 'EVENT_FULL' : '';
  if (reason && !alreadyAdmitted) return keep(describe('REFUSED', reason));
  return keep(describe('CHECKED_IN', reason, scanId), { ...state.inside, [attendeeId]: scanId });
}

const describe = (outcome: string, reason: string, gate = '') => `${outcome} ${reason} ${gate}`;

/** Equal states must have equal JSON. */
function sortKeys(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1)));
}
