/** Who may use the console: the lines of `OPERATORS_FILE`. */
import { readFileSync } from 'node:fs';
import { toEmailKey } from './email-address.ts';
import { splitLines } from './parse-setting.ts';

const ROLES = ['viewer', 'support', 'admin', 'team'] as const;

export type Role = (typeof ROLES)[number];

export interface Operator {
  /** In the spelling of the file. */
  readonly email: string;
  readonly role: Role;
  /** The applications of a `team`. Empty for the other roles, which see every application. */
  readonly applicationIds: readonly string[];
  /** Whether the operator may make recovery links. */
  readonly mayRecover: boolean;
  /** Whether the operator must sign in with a passkey. */
  readonly needsPasskey: boolean;
}

/** Operators by e-mail address, in the form of `toEmailKey`. */
export type Operators = ReadonlyMap<string, Operator>;

/** The console has the settings. Passkeys know them, too. */
export interface OperatorSettings {
  readonly operators?: Operators | undefined;
  /** The path of `OPERATORS_FILE`, which is read again when it changes. */
  readonly operatorsFile?: string | undefined;
}

const TRIAL_EMAIL = 'operator@example.com';

/** The only operator with embedded Postgres, until `OPERATORS_FILE` is set. */
export const TRIAL_OPERATORS: Operators = new Map([
  [TRIAL_EMAIL, { email: TRIAL_EMAIL, role: 'admin', applicationIds: [], mayRecover: true, needsPasskey: false }],
]);

const LINE =
  /^(?<email>[^\s@#]+@[^\s@]+)\s+(?<role>\w+)(?:\s+(?<applicationId>[0-9a-f-]{36}))?(?<recover>\s+recover)?(?<passkey>\s+passkey)?$/i;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Returns the operators of a file. A line is `ada@example.com admin`, or `ada@example.com team <application ID>`, with
 * `recover` (not for a `team`) and `passkey` at the end if wanted, in this order. Each application of a `team` has a
 * line. Lines that begin with `#` are comments.
 *
 * @throws Error that names the number of the first wrong line
 */
export function parseOperators(text: string): Operators {
  const operators = new Map<string, Operator>();
  for (const [index, line] of splitLines(text).entries()) {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    const operator = parseLine(trimmed);
    if (!operator) {
      throw new Error(
        `line ${index + 1} must be an e-mail address and viewer, support, admin or team <application ID>`,
      );
    }
    const key = toEmailKey(operator.email);
    const before = operators.get(key);
    if (before && (before.role !== 'team' || operator.role !== 'team')) {
      throw new Error(`line ${index + 1} repeats the operator of an earlier line`);
    }
    operators.set(key, before ? mergeTeams(before, operator) : operator);
  }
  if (operators.size === 0) throw new Error('must name an operator');
  return operators;
}

function parseLine(line: string): Operator | undefined {
  const { email = '', role: name, applicationId, recover, passkey } = LINE.exec(line)?.groups ?? {};
  const role = ROLES.find((known) => known === name);
  const id = applicationId?.toLowerCase();
  const isTeam = role === 'team';
  const isComplete = isTeam ? id !== undefined && UUID.test(id) && !recover : id === undefined;
  if (!role || !isComplete) return undefined;
  // Users belong to all applications, so a team never may.
  const mayRecover = role === 'admin' || recover !== undefined;
  return { email, role, applicationIds: id ? [id] : [], mayRecover, needsPasskey: passkey !== undefined };
}

/** Requires a passkey if either line does. */
function mergeTeams(one: Operator, other: Operator): Operator {
  return {
    ...one,
    applicationIds: [...one.applicationIds, ...other.applicationIds],
    needsPasskey: one.needsPasskey || other.needsPasskey,
  };
}

/**
 * Returns a function that says whether a line of the file demands that the person signs in with a passkey. It reads the
 * file each time, because it is asked only about passkeys that are new. Somebody may be writing the file, so the
 * operators of the read before count as well, and alone if a line is malformed.
 */
export function createPasskeyDemand({ operators, operatorsFile: path }: OperatorSettings): (email: string) => boolean {
  let last = operators;
  return (email) => {
    const before = last;
    if (path !== undefined) last = readOperators(path) ?? before;
    return [before, last].some((each) => each?.get(toEmailKey(email))?.needsPasskey);
  };
}

/**
 * Returns a function that says whether somebody is an operator by the file as it is now, or as it was when it last could
 * be read.
 */
export function createOperatorCheck({
  databaseUrl,
  operators,
  operatorsFile: path,
}: OperatorSettings & { readonly databaseUrl?: string | undefined }): (email: string) => boolean {
  let last = operators ?? (databaseUrl === undefined ? TRIAL_OPERATORS : undefined);
  return (email) => {
    if (path !== undefined) last = readOperators(path) ?? last;
    return last?.has(toEmailKey(email)) ?? false;
  };
}

function readOperators(path: string): Operators | undefined {
  try {
    return parseOperators(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}
