/** What a module adds to the login page: a way to sign in, beside codes. */
import type { Logger } from 'pino';
import type { Branding } from '../../domain/applications/branding.ts';
import { ONE_FACTOR } from '../../domain/core/assurance.ts';
import { NO_PROVIDERS, type ProviderNames } from '../../domain/identities/provider-names.ts';
import type { WayView } from '../pages/view.ts';
import type { LoginContext } from './login-context.ts';

/** What a login asks of a sign-in. */
export interface AskedSignIn extends Pick<Branding, 'loginMethods'> {
  /** The lowest level that completes it. */
  readonly requiredAssurance: number;
}

export interface SignInWay {
  /** The highest level of assurance that it can show. One factor if absent. */
  readonly highest?: number;
  /** Its forms are below those of all others. */
  readonly isLast?: boolean;
  /**
   * Returns what the pages of a login show of it, or undefined if people cannot sign in to the application by it.
   *
   * @param login what its application allows, and the level that it demands
   * @param request undefined for a preview
   */
  view(login: AskedSignIn, request?: LoginContext): WayView | undefined;
  /** Returns the page that the person wants to see after the sign-in, before the application. */
  findWantedPage?(request: LoginContext, prompt?: string): string | undefined;
  /** Returns the page with an offer that is due after a sign-in by another method. */
  findDueOffer?(request: LoginContext): Promise<string | undefined>;
  /** The providers whose IDs are methods of sign-ins. */
  readonly providers?: ProviderNames;
  /** Runs its background job until the signal is aborted. */
  run?(parts: { readonly logger: Logger; readonly signal: AbortSignal }): Promise<void>;
}

/** The ways of all modules, as the login page, the account page and the rest of Usher use them. */
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
