import { listMatchingDomains } from '../../config/email-domains.ts';
import type { LoginIntent } from './login-intent.ts';

type SignUpSettings = Pick<LoginIntent, 'allowSignUp' | 'signUpEmailDomains'>;

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
  allow(intent: SignUpSettings, email: string): boolean {
    return this.findRefusal(intent, email) === undefined;
  }

  /** Returns the name of the setting that refuses the address. */
  findRefusal({ allowSignUp, signUpEmailDomains: allowed }: SignUpSettings, email: string): string | undefined {
    const isListed = allowed.length === 0 || listMatchingDomains(email).some((domain) => allowed.includes(domain));
    if (!allowSignUp) return 'allowSignUp';
    if (!isListed) return 'signUpEmailDomains';
    return this.isBlocked(email) ? 'BLOCKED_EMAIL_DOMAINS_FILE' : undefined;
  }
}
