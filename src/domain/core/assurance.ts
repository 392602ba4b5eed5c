/** How surely a sign-in shows who is at the browser, in levels that are compared. */
import { type Rule, rule } from './rule.ts';
import { oneOf } from './validation.ts';

/** 1: one factor. 2: two factors. 3: two factors that resist phishing, as a passkey with user verification does. */
export const ONE_FACTOR = 1;
export const TWO_FACTORS = 2;
export const PHISHING_RESISTANT = 3;

/** The lowest level that an application or a login accepts, by its name in the API. */
const REQUIRED = { ANY: ONE_FACTOR, TWO_FACTORS, PHISHING_RESISTANT } as const;

type RequiredAssurance = keyof typeof REQUIRED;

const NAMES = Object.keys(REQUIRED) as readonly RequiredAssurance[];
const anyName = oneOf(NAMES);

/** Accepts a name, and returns its level. */
export const requiredAssuranceRule: Rule<number> = rule(anyName.schema, (value) => REQUIRED[anyName(value)]);

/** Returns the name of a level that an application or a login accepts. */
export function nameRequiredAssurance(level: number): RequiredAssurance {
  return NAMES.find((name) => REQUIRED[name] === level) ?? 'ANY';
}

/** Authentication context class references. `phr` is one of the registered EAP ACR values. */
export const ACR_VALUES: readonly string[] = ['1', '2', 'phr'];

/** Returns the `acr` of a sign-in. */
export function acrOf(level: number): string {
  return ACR_VALUES[level - 1] ?? '1';
}

/** Returns the strongest level of a list that is separated by spaces, as `acr_values` is. */
export function levelOfAcrValues(values = ''): number {
  return Math.max(...values.split(' ').map(levelOfAcr));
}

/** Returns the level of an `acr`. That of an unknown one is the lowest. */
export function levelOfAcr(acr: unknown): number {
  return Math.max(ONE_FACTOR, (ACR_VALUES as readonly unknown[]).indexOf(acr) + 1);
}
