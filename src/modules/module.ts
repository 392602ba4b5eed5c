import type { BlockList } from 'node:net';
import type { Admission } from '../api/admission.ts';
import type { Api, ApiParts } from '../api/api.ts';
import type { Config, ModuleSettings, readDatabaseSettings } from '../config/config.ts';
import type { WantedPort } from '../config/require-free-ports.ts';
import type { Secrets } from '../config/secrets.ts';
import type { LogoutTokens } from '../delivery/send-delivery.ts';
import type { Call } from '../domain/core/call.ts';
import type { DerivedKeys } from '../domain/crypto/derived-keys.ts';
import type { CreateIntrospection } from '../domain/grants/token-status.ts';
import type { ProtocolAnswers } from '../domain/tokens/auth-tokens.ts';
import type { PathHandler } from '../http/http-context.ts';
import type { Certificate } from '../http/tls.ts';
import type { NetworkLimit } from '../login-page/browser/network-limit.ts';
import type { PageParts } from '../login-page/offer/login-request.ts';
import type { PageOffer } from '../login-page/offer/page-offer.ts';
import type { MailQueue } from '../mail/mail-queue.ts';
import type { MailServer } from '../mail/open-mail.ts';
import type { Check, CheckContext } from './check.ts';

/** An optional part of Usher. It lives in a folder of its own, and is named outside that only in `modules.ts`. */
export interface Module<ItsConfig = Config> extends ModuleSettings {
  readonly name: string;
  /** The ports that its settings name. A start fails early unless they are free. */
  portsOf?(config: ItsConfig): readonly WantedPort[];
  /** Returns what it adds to Usher, before the parts of the core are made that need it. */
  offer?(config: ItsConfig, early: Early): Offer;
  /** Checks of `node src/start.js check`. */
  readonly checks?: readonly Check<CheckContext<ItsConfig>>[];
  /** Commands of `src/start.js`, by name. */
  readonly commands?: Readonly<Record<string, Command<ItsConfig>>>;
}

/** Returns its output. @throws Error of one line */
type Command<ItsConfig> = (settings: CommandSettings<ItsConfig>, ...given: string[]) => Promise<string | CommandResult>;

/** Reads what a command needs, and demands no other settings. */
export interface CommandSettings<ItsConfig = Config> {
  readonly readConfig: () => ItsConfig;
  readonly readDatabaseSettings: () => ReturnType<typeof readDatabaseSettings>;
}

interface CommandResult {
  readonly output: string;
  readonly exitCode: number;
}

/** What the console shows of a module's health. */
export interface ModuleHealth {
  readonly id: string;
  readonly title: string;
  /** What is not well, in whole sentences. */
  readonly problems: readonly string[];
  readonly facts: readonly (readonly [name: string, value: string])[];
}

export type ReadModuleHealth = (call: Pick<Call, 'run'>) => Promise<ModuleHealth>;

/** What the server knows first. */
export interface Early {
  /** The keys of cookies and links of the account page. The first key encrypts, and all keys decrypt. */
  readonly accountKeys: DerivedKeys;
  /** The URL of the login page. */
  readonly authPageUrl: string;
  readonly publicUrl: string;
  readonly secrets: Pick<Secrets, 'encryptionKeys' | 'oidcSigningKeys'>;
}

export interface Offer {
  readonly pages?: PageOffer;
  readonly protocol?: Protocol;
  /** Starts it. Its parameter says what it needs of the core. Absent if the settings turn it off. @throws Error of one line */
  open?(core: Core): OpenedModule | Promise<OpenedModule>;
}

/** A protocol beside the API by which applications sign people in. */
interface Protocol {
  /** Answers the logins that the protocol has begun, even if it is off by now. */
  readonly answers: ProtocolAnswers;
  /** Undefined if the protocol is off. */
  readonly createIntrospection?: CreateIntrospection;
  /** Undefined if the protocol is off. */
  readonly logoutTokens?: LogoutTokens;
}

/** What the running core gives to a module. */
export interface Core extends Omit<ApiParts, 'createIntrospection'> {
  readonly api: Api;
  readonly databaseUrl: string;
  /** Whether applications can use OpenID Connect, for which Usher needs keys. */
  readonly hasOidc: boolean;
  readonly onMessage: (applicationId: string) => void;
  readonly secrets: Secrets;
  readonly trustedProxies: BlockList;
  /** Modules add what the console shows of their health. */
  readonly health: Set<ReadModuleHealth>;
  /** How this machine reaches the server. */
  readonly url: string;
  /** Limits requests of browsers in flight. */
  readonly loginAdmission: Admission;
  /** Limits how many logins a network begins. */
  readonly logins: NetworkLimit;
  readonly mailer: MailQueue;
  readonly mailServer: MailServer;
  readonly pages: PageParts;
  /** Called after sessions of a user have ended. */
  readonly onSignedOut: (userId: string) => void;
}

export interface OpenedModule extends Partial<AsyncDisposable> {
  /** Answer paths at the port of the API, after the API. */
  readonly handlers?: readonly PathHandler[];
  /** By their names in the metrics. */
  readonly caches?: Readonly<Record<string, Pick<Api['caches']['sessions'], 'lookUps' | 'clear'>>>;
  readonly greeting?: Greeting | undefined;
  /** Takes effect for new connections. */
  readonly setCertificate?: (certificate: Certificate) => void;
}

/** What `npm start` prints of a module, on the embedded Postgres. */
export interface Greeting {
  readonly title: string;
  readonly url: string;
  /** What follows the title: the URL, and how to use it. */
  readonly text: string;
  /** Shell variables for a first call, by name. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Makes what the examples of the API reference need, and returns values of their variables. Only this machine may see them. */
  readonly makeExampleValues?: () => Promise<Readonly<Record<string, string>>>;
}
