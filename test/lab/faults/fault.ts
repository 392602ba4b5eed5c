/** A small change of the code that a test should notice. */
export interface Fault {
  /** The same as long as its code is the same, wherever in the file that stands. */
  readonly id: string;
  readonly file: string;
  readonly line: number;
  readonly kind: Kind;
  /** What is replaced, and by what. */
  readonly before: string;
  readonly after: string;
  /** Of code that runs when its module is loaded: the modules are loaded anew with the fault. */
  readonly isStatic: boolean;
  /** For SQL, what comes around the text, or instead of it. */
  readonly sql?: SqlChange;
  /** Why nobody sees it, as a comment beside the code says. */
  readonly answer: string | undefined;
}

/** What a comparison becomes. */
export const OPPOSITES: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
};

/** What a comment `Equivalent: kind: why` names. */
export type Kind =
  | 'guard'
  | 'condition'
  | 'choice'
  | 'default'
  | 'comparison'
  | 'limit'
  | 'call'
  | 'method'
  | 'conjunct'
  | 'disjunct'
  | 'column'
  | 'argument'
  | 'order';

/** Keeps the text, so that each parameter still occurs, or replaces a text without parameters. */
export type SqlChange = { readonly prefix: string; readonly suffix: string } | { readonly text: string };

/** Code with all of its faults, of which these functions plant one at run time. */
export interface FaultyFile {
  readonly file: string;
  readonly faults: readonly Fault[];
  readonly text: string;
}

declare global {
  /** Returns whether the fault is planted. */
  var $fault: (id: string) => boolean;
  /** Returns the value, or the other one if the fault is planted. */
  var $decide: (id: string, other: boolean, value: unknown) => unknown;
  /** Compares, and says the opposite of what is equal if the fault is planted. */
  var $compare: (id: string, compare: (left: unknown, right: unknown) => boolean, ...values: never[]) => boolean;
  /** Says that a module of `src` begins (1) or ends (-1) to be loaded. */
  var $loading: (change: 1 | -1) => void;
  /** Returns the text of a statement as Postgres gets it. */
  var $statement: (text: string) => string;
}

/** What a worker runs. */
export interface Order {
  readonly file: string;
  /** The IDs of the tests that run: all if it is left out. */
  readonly tests?: readonly string[];
  readonly limitMs: number;
  readonly fault?: Pick<Fault, 'id' | 'sql'>;
  /** Whether the answer says what the tests reach. */
  readonly isRecording?: boolean;
  /** Whether the first test that fails is the last one. */
  readonly bail?: boolean;
  /** Whether all modules are loaded anew. */
  readonly mustReload: boolean;
}

export interface RunTest {
  readonly id: string;
  /** With the titles around it. */
  readonly title: string;
  readonly ms: number;
  /** CPU time of the worker, which depends less on what else the machine does. */
  readonly cpuMs: number;
  readonly hasPassed: boolean;
}

export interface Outcome {
  readonly tests: readonly RunTest[];
  /** Whether a hook has failed, or the file could not be loaded. */
  readonly isBroken: boolean;
  /** CPU time, hooks included. */
  readonly cpuMs: number;
  /** If it was recorded: the IDs of the faults that each test may see. */
  readonly reached: Readonly<Record<string, readonly string[]>>;
}

/**
 * Stand for tests in `Outcome.reached`: what is reached while modules of `src` are loaded, by hooks, and by anything, where
 * the fault changes nothing, too.
 */
export const AT_LOAD = 'load';
export const IN_HOOKS = 'hooks';
export const ANYWHERE = 'anywhere';

/** Plants the fault in the text of a statement that has its marks, and removes all marks. */
export function plantInStatement(text: string, fault?: Pick<Fault, 'id' | 'sql'>): string {
  const { id, sql } = fault ?? {};
  const planted =
    sql === undefined
      ? text
      : text.replaceAll(new RegExp(`/\\*${id}\\[\\*/(.*?)/\\*${id}\\]\\*/`, 'gs'), (_, inner) =>
          'text' in sql ? sql.text : `${sql.prefix}${inner}${sql.suffix}`,
        );
  return planted.replaceAll(/\/\*[\w.]+[[\]]\*\//g, '');
}

/** Returns the IDs of the faults that the text of a statement has marks of. */
export function marksOf(text: string): string[] {
  return [...text.matchAll(/\/\*([\w.]+)\[\*\//g)].map(([, id = '']) => id);
}
