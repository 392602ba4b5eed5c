/** Which second factors of a provider count: what its ID tokens say of them, and how Usher asks for one. */
import { ONE_FACTOR, PHISHING_RESISTANT, TWO_FACTORS } from '../../domain/core/assurance.ts';

/** Claims of ID tokens, their values, and the level that a value shows: 2 or 3. */
export type AssuranceTable = Readonly<Record<string, Readonly<Record<string, number>>>>;

const [MAX_CLAIMS, MAX_VALUES, MAX_PARAMETERS] = [4, 20, 4];

const NAME = /^[\x21-\x7e]{1,100}$/;
const CLAIM_VALUE = /^\P{C}{1,200}$/u;
const PARAMETER_VALUE = /^\P{C}{1,2000}$/u;

/** Returns the entries of an object with at most so many fields, or undefined for anything else. */
function entriesOf(value: unknown, max: number): readonly [string, unknown][] | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value);
  return entries.length > 0 && entries.length <= max ? entries : undefined;
}

/** What is wrong with an `assurance` that is none. */
export const ASSURANCE_RULE = `assurance must have 1 to ${MAX_CLAIMS} claims with 1 to ${MAX_VALUES} values each, whose levels are ${TWO_FACTORS} or ${PHISHING_RESISTANT}`;

export function isAssuranceTable(value: unknown): value is AssuranceTable {
  const isLevel = (level: unknown) => level === TWO_FACTORS || level === PHISHING_RESISTANT;
  const isRow = ([claim, values]: [string, unknown]) =>
    NAME.test(claim) &&
    entriesOf(values, MAX_VALUES)?.every(([text, level]) => CLAIM_VALUE.test(text) && isLevel(level));
  return entriesOf(value, MAX_CLAIMS)?.every(isRow) ?? false;
}

/** The parameters of an authorization request that Usher, or its library, sends itself. */
const OWN_PARAMETERS: readonly string[] = [
  ...['client_id', 'redirect_uri', 'response_type', 'scope', 'state', 'nonce', 'code_challenge'],
  ...['code_challenge_method', 'login_hint', 'max_age', 'prompt'],
];

export const STEP_UP_RULE = `stepUp must have 1 to ${MAX_PARAMETERS} parameters that Usher does not send itself, with texts of at most 2,000 characters, and needs assurance`;

export function isStepUp(value: unknown): value is Readonly<Record<string, string>> {
  const isParameter = ([name, text]: [string, unknown]) =>
    NAME.test(name) && !OWN_PARAMETERS.includes(name) && typeof text === 'string' && PARAMETER_VALUE.test(text);
  return entriesOf(value, MAX_PARAMETERS)?.every(isParameter) ?? false;
}

/** Returns the highest level that a sign-in at the provider can have. */
export function highestLevelOf(table: AssuranceTable = {}): number {
  return Math.max(ONE_FACTOR, ...Object.values(table).flatMap((values) => Object.values(values)));
}

/**
 * Returns the highest level that the claims show. A claim is a text or a list of texts; any other counts as absent.
 *
 * @param claims those of the ID token alone: userinfo is not signed
 */
export function levelOfClaims(table: AssuranceTable = {}, claims: Readonly<Record<string, unknown>>): number {
  const levels = Object.entries(table).flatMap(([claim, values]) => {
    const given = [claims[claim]].flat();
    const isWellFormed = given.every((value) => typeof value === 'string');
    return isWellFormed ? given.flatMap((value) => (Object.hasOwn(values, value) ? (values[value] ?? []) : [])) : [];
  });
  return Math.max(ONE_FACTOR, ...levels);
}
