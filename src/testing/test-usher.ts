/** What `startUsher` takes and answers. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import type {
  AdminService,
  AuditEvent,
  CreateApplicationRequestSchema,
  CreateUserRequestSchema,
  ListAuditEventsRequestSchema,
  User,
} from '../../gen/usher/v1/admin_pb.ts';
import type { UsherClient } from '../client/usher-client.ts';
import type { WebhookMessage } from '../client/webhook-message.ts';

export interface StartUsherOptions {
  /** Settings as in production, checked as there. */
  readonly env?: Readonly<Record<string, string>>;
  /** The path of a file of applications (`APPLICATIONS_FILE`). */
  readonly applications?: string;
  /** What the test prints of the server's log: nothing; warnings and errors, if the test fails; every line. */
  readonly log?: 'silent' | 'failures' | 'all';
  /** The first time of the clock. Default: the present. */
  readonly at?: Date | string;
  /** A Postgres server of your own on a loopback address, instead of the embedded one. */
  readonly databaseUrl?: string;
}

/** Milliseconds, or a number with its unit: `90s`, `16m`, `12h`, `90d`. */
export type Duration = number | string;

/** The real server, in this process, with a database of its own. Disposal stops it and drops the database. */
export interface TestUsher extends AsyncDisposable {
  readonly url: string;
  readonly adminKey: string;
  readonly admin: Client<typeof AdminService>;
  readonly clock: TestUsherClock;
  /** Creates an application as the RPC does. Without other fields, new users may sign up. */
  createApplication(fields?: NewApplication): Promise<TestApplication>;
  /** Creates a user as the RPC does. Without an e-mail address, one is made up. */
  createUser(fields?: MessageInitShape<typeof CreateUserRequestSchema>): Promise<User>;
  /**
   * Completes the login to which the URL leads: that of GenerateAuthUrl, or of `/oidc/authorize`.
   *
   * @param user the ID of a user, or an e-mail address: a new one signs up if the application allows it
   * @throws SignInRefusedError with the reason of production
   */
  signIn(authUrl: string | URL, user: string, how?: HowToSignIn): Promise<CompletedSignIn>;
  /** Returns the e-mails that were sent to the address, the oldest first. */
  mails(address: string): readonly TestMail[];
  /** Returns the next e-mail to the address that it has not returned yet. Waits up to 5 s of real time. */
  nextMail(address: string): Promise<TestMail>;
  /** Breaks the server until disposal, which resolves when it is ready again. */
  outage(kind: OutageKind): Promise<AsyncDisposable>;
  /**
   * Resolves when every message has had its attempt, every e-mail was sent, and every due job has run.
   *
   * @throws Error after 10 s of real time, with what is left
   */
  settle(): Promise<void>;
  /** Starts an endpoint on 127.0.0.1, and creates a webhook of the application for it. Default: of all types. */
  receiveWebhooks(
    application: Pick<TestApplication, 'id' | 'client'>,
    types?: readonly string[],
  ): Promise<WebhookInbox>;
  /** Returns the audit log, the oldest first. */
  auditEvents(filter?: MessageInitShape<typeof ListAuditEventsRequestSchema>): Promise<readonly AuditEvent[]>;
  /** Empties everything but the applications with their keys. The clock stays. */
  reset(): Promise<void>;
}

export interface NewApplication extends Omit<MessageInitShape<typeof CreateApplicationRequestSchema>, '$typeName'> {}

export interface TestApplication {
  readonly id: string;
  readonly name: string;
  readonly clientId: string;
  readonly apiKeyId: string;
  readonly apiKey: string;
  readonly redirectUris: readonly string[];
  /** The client of `usher-client`, with this key. */
  readonly client: UsherClient;
}

export interface HowToSignIn {
  /** `email`, which is the default, `passkey`, `wallet`, or the ID of a provider. */
  readonly method?: string;
  /** What the person has shown. Default: one factor; with a passkey, `PHISHING_RESISTANT`. */
  readonly assurance?: 'TWO_FACTORS' | 'PHISHING_RESISTANT' | 1 | 2 | 3;
  /** Remembers the sign-in for other applications, and answers the cookie with which a browser continues it. */
  readonly remember?: boolean;
  /** The name that a new user gives. */
  readonly name?: string;
}

export interface CompletedSignIn {
  /** Where the browser goes next: the redirect URI with the answer. */
  readonly redirectUrl: string;
  /** Of a login by GenerateAuthUrl. */
  readonly authToken?: string;
  /** Of a login by OpenID Connect. */
  readonly code?: string;
  readonly state?: string;
  /** The `Set-Cookie` of a remembered sign-in. */
  readonly cookie?: string;
}

/** Production would have refused the sign-in, too. */
export class SignInRefusedError extends Error {
  override readonly name = 'SignInRefusedError';
  /** As in the documentation of errors, such as `ACCESS_NOT_ALLOWED`. */
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(`${reason}: ${message}`);
    this.reason = reason;
  }
}

export interface TestMail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The code, if the e-mail has one. */
  readonly code: string | undefined;
  readonly links: readonly string[];
}

/** Runs with real time until it is frozen. It only goes forwards, because rows of the future cannot be taken back. */
export interface TestUsherClock {
  now(): Date;
  /** Resolves when everything behaves as if the time had passed. Retries of webhooks run at their times. */
  advance(duration: Duration): Promise<void>;
  /** Advances to the instant. @throws RangeError if it is in the past */
  set(date: Date | string | number): Promise<void>;
  /** Stops the time. */
  freeze(): void;
  /** Lets the time go on. */
  run(): void;
  /** Sets the `Date` of this process to Usher's: at once, whenever Usher reads its clock, and after every move. */
  follow(vi: FakeDate): void;
}

/** What `follow` needs of `vi`. */
export interface FakeDate {
  setSystemTime(date: Date): unknown;
  isFakeTimers(): boolean;
  useRealTimers(): unknown;
}

/**
 * `database`: Postgres is cut off, so calls are answered with 503 and `Retry-After`. `slow`: each statement takes 2 s.
 * `refused`: the port is closed.
 */
export type OutageKind = 'database' | 'slow' | 'refused';

export interface WebhookInbox extends AsyncDisposable {
  readonly webhookId: string;
  /** Returns the next message of the type that it has not returned yet. Waits up to 5 s of real time. */
  next<Type extends WebhookMessage['type']>(type?: Type): Promise<Extract<WebhookMessage, { type: Type }>>;
  /** Returns every message that was accepted. */
  all(): readonly WebhookMessage[];
  /** Answers the next attempts with the status, by default 500. */
  fail(times?: number, status?: number): void;
  /** How many attempts have arrived. */
  readonly attempts: number;
}
