import type { Run } from '../database/database.ts';
import type { CountName } from './hourly-counts/hourly-counts.ts';

/** What a function of the domain knows of the call it serves. */
export interface Call {
  /** Runs a statement, which ends by the deadline of the call. */
  readonly run: Run;
  /** The time of the call by the clock of this process. Every lifetime is measured against it. */
  readonly now: Date;
  /** Called when the call has waited for what other calls do not need, such as a locked row. */
  readonly onWait?: (() => void) | undefined;
  /** Counts what the charts of operators show. */
  readonly count?: ((name: CountName) => void) | undefined;
  /** Updates only the version of a row that the caller has seen. */
  readonly ifVersion?: string | undefined;
  /** Called after a webhook message of the application was inserted, to wake delivery. */
  readonly onMessage?: ((applicationId: string) => void) | undefined;
}

/** A call made with an application's API key. */
export interface ApplicationCall extends Call {
  readonly application: Application;
}

/** The owner of an API key. */
export interface Application {
  readonly id: string;
  readonly name: string;
  readonly clientId: string;
  readonly redirectUris: readonly string[];
  /** How long its sessions can be renewed after the authentication, unless it is the default. */
  readonly sessionMaxAgeSeconds?: number | null;
  /** How long after their expiry its sessions can be renewed, unless it is the default. */
  readonly sessionIdleSeconds?: number;
  /** Whether it shares sign-ins, so that browsers remember them. */
  readonly singleSignOn?: boolean;
  /** Whether it may use OpenID Connect. */
  readonly openIdConnect?: boolean;
}
