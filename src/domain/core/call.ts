import type { Run } from '../../database/pool/database.ts';

/** What operators see in charts, per hour. */
export type CountName =
  | 'sign_ins'
  | 'sign_ups'
  | 'wrong_codes'
  | 'refused_sign_ins'
  | 'emails'
  | 'failed_emails'
  | 'webhook_attempts'
  | 'failed_webhook_attempts';

/** What a function of the domain knows about the call that it serves. */
export interface Call {
  /** Runs a statement. It ends at the deadline of the call at the latest. */
  readonly run: Run;
  /** The time of the call, by the clock of this process. All expiry times are compared with it. */
  readonly now: Date;
  /** Adds one to a count that operators see in a chart. */
  readonly count?: ((name: CountName) => void) | undefined;
  /** The name of the admin key, the ID of the API key, or the user ID of the operator. Empty for others. */
  readonly actor?: string | undefined;
  /** The version of the row that the caller has seen. An update of another version is refused. */
  readonly ifVersion?: string | undefined;
  /**
   * How many cut-offs had ended every sign-in of the user when this request found the user signed in. The user's own
   * changes are refused after another one. Absent for changes by others.
   */
  readonly cutoffCount?: number | undefined;
  /** Called after a webhook message of the application was inserted, to wake delivery. */
  readonly onMessage?: ((applicationId: string) => void) | undefined;
  /** Set within a transaction of several changes: the job does what they leave unfinished. */
  readonly isUncommitted?: true;
  /** Absent if Usher sends no e-mails: then changes store no notices. */
  readonly notices?: NoticeSettings | undefined;
}

/** How a call stores notices. */
export interface NoticeSettings {
  /** Returns the tag of the language for the user. @param locale the languages that the application wants */
  toLanguage(locale?: string | null): string;
  /** Called after a notice was stored, to send it without waiting for the next poll. */
  wake(): void;
}

/** A call made with an application's API key. */
export interface ApplicationCall extends Call {
  readonly application: Application;
}

/** A call that may run several statements in one transaction. */
export interface TransactionalCall extends ApplicationCall, Transactional {}

export interface Transactional {
  /**
   * What `work` changes takes effect together, or not at all. Its statements see what was committed before them.
   * Transactions with the same `lock` follow one another in a process.
   */
  transact<Result>(work: (run: Run) => Promise<Result>, lock?: string): Promise<Result>;
}

/** The application whose API key authenticates a call. */
export interface Application {
  readonly id: string;
  readonly name: string;
  readonly clientId: string;
  readonly redirectUris: readonly string[];
  /** How long after the sign-in its sessions can be renewed. If null or absent, the default of the settings applies. */
  readonly sessionMaxAgeSeconds?: number | null;
  /** How long after their expiry its sessions can be renewed. With the default of 900, expired sessions cannot. */
  readonly sessionIdleSeconds?: number;
  /** Whether it shares sign-ins with other applications. If so, browsers remember its sign-ins. */
  readonly singleSignOn?: boolean;
  /** Whether only users whom operators have let in may sign in. */
  readonly restrictAccess?: boolean;
  /** The lowest level of the sign-ins that it accepts. */
  readonly requiredAssurance?: number;
  /** The attributes of users that it sees. */
  readonly attributeClaims?: readonly string[];
  /** Whether it may use OpenID Connect. */
  readonly openIdConnect?: boolean;
  /** Whether devices without a browser may sign in (RFC 8628). */
  readonly deviceLogin?: boolean;
}
