import { invalidField } from '../errors.ts';

/** Tells methods of Usher's own and listed providers from other names. */
export type IsKnownMethod = (name: string) => boolean;

/**
 * Refuses the name of no method: a slip would hide a way to sign in from everybody.
 *
 * @throws ServiceError `Validation failed`
 */
export function requireKnownMethods(methods: readonly string[], isKnown: IsKnownMethod = () => true): void {
  if (!methods.every(isKnown)) throw invalidField('loginMethods', 'must be methods of Usher or listed providers');
}
