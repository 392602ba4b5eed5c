import { invalidField } from '../core/errors.ts';

/** Returns whether the name is a login method of Usher or a provider in the settings. */
export type IsKnownMethod = (name: string) => boolean;

/**
 * Refuses unknown login methods: a misspelt name would hide a login method from every user.
 *
 * @throws ServiceError `Validation failed`
 */
export function requireKnownMethods(methods: readonly string[], isKnown: IsKnownMethod = () => true): void {
  if (!methods.every(isKnown)) throw invalidField('loginMethods', 'must be methods of Usher or listed providers');
}
