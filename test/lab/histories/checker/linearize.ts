/**
 * An exact search for a linearization, after Wing & Gong (1993), in the form of Lowe (2017) that goes through the
 * history once. It keeps every configuration that explains what has returned so far: a state, and which pending
 * operations have taken effect in it.
 */
import { describeOperation, isRead, type Operation, refusalOf, type Violation } from './operation.ts';

export interface Model<State> {
  readonly initial: State;
  /**
   * Returns the state after the operation, or undefined if it cannot have had its outcome in this state. With an
   * unknown outcome it may have had any. States are compared by their JSON.
   */
  apply(state: State, operation: Operation): State | undefined;
}

interface Configuration<State> {
  readonly state: State;
  /** The pending operations that have taken effect, by number. */
  readonly done: readonly number[];
}

/** More would take too much memory. It has never been needed. */
const MAX_CONFIGURATIONS = 100_000;

/** How many operations a violation shows. */
const SHOWN = 12;

/** Returns why the operations on one object have no order that explains their answers, if so. */
export function findViolation<State>(model: Model<State>, history: readonly Operation[]): Violation | undefined {
  const operations = history.filter((operation) => operation.outcome !== 'unknown' || !isRead(operation));
  const pending = new Map<number, Operation>();
  let configurations: Configuration<State>[] = [{ state: model.initial, done: [] }];
  for (const { isReturn, number, operation } of orderEnds(operations)) {
    if (!isReturn) {
      pending.set(number, operation);
      continue;
    }
    const next = complete(model, configurations, pending, number);
    if (next === 'too many') return violate('undecided: too many configurations', operations, operation);
    if (next.length === 0) {
      const states = configurations.slice(0, 3).map(({ state }) => JSON.stringify(state));
      return violate(`not linearizable: ${operation.rpc}`, operations, operation, states);
    }
    configurations = next;
    pending.delete(number);
  }
  return undefined;
}

/** Returns the calls and returns by time. What is at the same instant overlaps. Unknown outcomes may never return. */
function orderEnds(operations: readonly Operation[]) {
  const ends = operations.flatMap((operation, number) => [
    { at: operation.calledAt, isReturn: false, number, operation },
    ...(operation.returnedAt === Number.POSITIVE_INFINITY
      ? []
      : [{ at: operation.returnedAt, isReturn: true, number, operation }]),
  ]);
  return ends.sort((a, b) => a.at - b.at || Number(a.isReturn) - Number(b.isReturn));
}

/** Returns the configurations in which the operation has taken effect, without it. */
function complete<State>(
  model: Model<State>,
  configurations: readonly Configuration<State>[],
  pending: ReadonlyMap<number, Operation>,
  returning: number,
): Configuration<State>[] | 'too many' {
  const seen = new Set<string>();
  const completed = new Map<string, Configuration<State>>();
  const open = [...configurations];
  for (let configuration = open.pop(); configuration; configuration = open.pop()) {
    const { state, done } = addReads(model, configuration, pending);
    const key = keyOf({ state, done });
    if (seen.has(key)) continue;
    seen.add(key);
    if (seen.size > MAX_CONFIGURATIONS) return 'too many';
    if (done.includes(returning)) {
      const rest = { state, done: done.filter((number) => number !== returning) };
      completed.set(keyOf(rest), rest);
      continue;
    }
    const tried = new Set<string>();
    for (const [number, operation] of pending) {
      if (done.includes(number)) continue;
      const next = model.apply(state, operation);
      if (next === undefined) continue;
      if (operation.returnedAt === Number.POSITIVE_INFINITY) {
        // One without effect need not be, and of equal ones any will do.
        const kind = JSON.stringify([operation.rpc, operation.input]);
        if (isSame(next, state) || tried.has(kind)) continue;
        tried.add(kind);
      }
      open.push({ state: next, done: [...done, number].sort((a, b) => a - b) });
    }
  }
  return [...completed.values()];
}

/** Reads and refusals that fit may as well be now, as they change nothing, ever. */
function addReads<State>(
  model: Model<State>,
  { state, done }: Configuration<State>,
  pending: ReadonlyMap<number, Operation>,
): Configuration<State> {
  const fitting = [...pending].filter(([number, operation]) => {
    if (done.includes(number) || !(isRead(operation) || refusalOf(operation) !== undefined)) return false;
    const next = model.apply(state, operation);
    return next !== undefined && isSame(next, state);
  });
  if (fitting.length === 0) return { state, done };
  return { state, done: [...done, ...fitting.map(([number]) => number)].sort((a, b) => a - b) };
}

function isSame(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

function keyOf({ state, done }: Configuration<unknown>): string {
  return `${done.join()} ${JSON.stringify(state)}`;
}

function violate(
  rule: string,
  operations: readonly Operation[],
  operation: Operation,
  states: readonly string[] = [],
): Violation {
  const before = operations.filter(({ calledAt }) => calledAt <= operation.returnedAt).slice(-SHOWN);
  const lines = [`${operation.subject} could have been in`, ...states, 'after', ...before.map(describeOperation)];
  return { rule, details: [...lines, 'when there returned', describeOperation(operation)].join('\n') };
}
