import { listMatchingDomains } from '../../config/email-domains.ts';
import type { LoginIntent } from './login-intent.ts';

/** Decides who may become a user on the login page. Users whom a call creates are not asked about. */
export class SignUpRules {
  #blocked: ReadonlySet<string>;

  /** @param blocked domains whose addresses never sign up, as `parseEmailDomains` returns them */
  constructor(blocked: readonly string[] = []) {
    this.#blocked = new Set(blocked);
  }

  /** Replaces the blocked domains after their file has changed. */
  replace(blocked: readonly string[]): void {
    this.#blocked = new Set(blocked);
  }

  isBlocked(email: string): boolean {
    return listMatchingDomains(email).some((domain) => this.#blocked.has(domain));
  }

  /**
   * Whether a person who proves to have the address may become a user. `sign_up` asks the application again, because it
   * may have changed since.
   */
  allow(
    { allowSignUp, signUpEmailDomains: allowed }: Pick<LoginIntent, 'allowSignUp' | 'signUpEmailDomains'>,
    email: string,
  ): boolean {
    const isListed = allowed.length === 0 || listMatchingDomains(email).some((domain) => allowed.includes(domain));
    return allowSignUp && isListed && !this.isBlocked(email);
  }
}
