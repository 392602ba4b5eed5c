/** The ways to sign in of all modules, as the login page, the account page and the rest of Usher use them. */
import { ONE_FACTOR } from '../domain/core/assurance.ts';
import { NO_PROVIDERS, type ProviderNames } from '../domain/identities/provider-names.ts';
import type { LoginContext } from './login-context.ts';
import type { WayView } from './pages/view.ts';
import type { AskedSignIn, SignInWay } from './sign-in-way.ts';

export class SignInWays {
  readonly providers: ProviderNames;
  readonly #ways: readonly SignInWay[];

  constructor(ways: readonly SignInWay[]) {
    // Before the others here, because `view` begins with the last one.
    this.#ways = ways.toSorted((one, other) => Number(other.isLast ?? false) - Number(one.isLast ?? false));
    this.providers = ways.find(({ providers }) => providers)?.providers ?? NO_PROVIDERS;
  }

  /**
   * Returns what the pages of a login show of each that can complete it, the last one first.
   *
   * @param request undefined for a preview
   */
  view(login: AskedSignIn, request?: LoginContext): readonly WayView[] {
    const suffices = ({ highest = ONE_FACTOR }: SignInWay) => highest >= login.requiredAssurance;
    return this.#ways
      .filter(suffices)
      .toReversed()
      .flatMap((way) => way.view(login, request) ?? []);
  }

  /** Returns the page that the person wants to see after the sign-in, before the application. */
  findWantedPage(request: LoginContext, prompt?: string): string | undefined {
    return this.#ways.map((way) => way.findWantedPage?.(request, prompt)).find((page) => page !== undefined);
  }

  /** Returns the page with an offer that is due after a sign-in. An error is ignored: the person has signed in. */
  async findDueOffer(request: LoginContext): Promise<string | undefined> {
    for (const way of this.#ways) {
      const page = await way.findDueOffer?.(request).catch(() => undefined);
      if (page !== undefined) return page;
    }
    return undefined;
  }

  /** Runs the background jobs until the signal is aborted. */
  async run(parts: Parameters<NonNullable<SignInWay['run']>>[0]): Promise<void> {
    await Promise.all(this.#ways.map((way) => way.run?.(parts)));
  }
}
