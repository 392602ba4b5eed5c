import type { Run } from '../database/database.ts';

/** What a verb knows of the call it serves. */
export interface Call {
  /** Runs a statement; every one ends by the call's deadline. */
  readonly run: Run;
  /** The time of the call, by the clock of this process. Every lifetime is measured against it. */
  readonly now: Date;
}

/** A call made with an application's API key. */
export interface ApplicationCall extends Call {
  readonly application: Application;
}

/** The application that owns an API key. */
export interface Application {
  readonly id: string;
  readonly name: string;
  readonly clientId: string;
  readonly redirectUris: readonly string[];
}
