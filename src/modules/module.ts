import type { BlockList } from 'node:net';
import type { Admission } from '../api/admission.ts';
import type { Api, ApiParts } from '../api/api.ts';
import type { Procedures } from '../api/procedures.ts';
import type { Config, ModuleSettings } from '../config/config.ts';
import type { WantedPort } from '../config/require-free-ports.ts';
import type { Secrets } from '../config/secrets.ts';
import type { LogoutTokens } from '../delivery/send-delivery.ts';
import type { CreateIntrospection } from '../domain/grants/token-status.ts';
import type { ProtocolAnswers } from '../domain/tokens/auth-tokens.ts';
import type { PathHandler } from '../http/http-context.ts';
import type { Certificate } from '../http/tls.ts';
import type { NetworkLimit } from '../login-page/network-limit.ts';
import type { PageOffer } from '../login-page/page-offer.ts';
import type { PageParts } from '../login-page/page-parts.ts';
import type { MailQueue } from '../mail/mail-queue.ts';

/** An optional part of Usher. It lives in a folder of its own, and is named outside that only in `modules.ts`. */
export interface Module<ItsConfig = Config> extends ModuleSettings {
  readonly name: string;
  /** The ports that its settings name. A start fails early unless they are free. */
  portsOf?(config: ItsConfig): readonly WantedPort[];
  /** Starts it. Returns undefined if the settings turn it off. @throws Error of one line */
  open?(config: ItsConfig, core: Core): Promise<OpenedModule | undefined>;
  /** Prepares a protocol with its keys, before the core. `readIssuer` is called later: it may depend on a port. */
  prepareProtocol?(config: ItsConfig, readIssuer: () => string, secrets: Secrets): Protocol;
  /** Returns what it adds to the pages, before the server opens. Links in notices need it also without a login page. */
  createPageOffer?(config: ItsConfig, setup: PageSetup): PageOffer;
  /** Writes its part of `gen`, for `npm run generate`. `procedures` are those of Usher with its modules. */
  generate?(procedures: Procedures): Promise<void>;
  /** Commands of `src/start.js`, by name. Each returns its output. @throws Error of one line */
  readonly commands?: Readonly<Record<string, (config: ItsConfig, ...given: string[]) => Promise<string>>>;
}

export interface PageSetup {
  /** The keys of cookies and links of the account page. The first key encrypts, and all keys decrypt. */
  readonly accountKeys: readonly Buffer[];
  /** The URL of the login page. */
  readonly authPageUrl: string;
  readonly encryptionKeys: readonly Buffer[];
}

/** A protocol beside the API by which applications sign people in. */
interface Protocol {
  /** Answers the logins that the protocol has begun, even if it is off by now. */
  readonly answers: ProtocolAnswers;
  /** Undefined if the protocol is off. */
  readonly createIntrospection: CreateIntrospection | undefined;
  /** Undefined if the protocol is off. */
  readonly logoutTokens: LogoutTokens | undefined;
  open(core: Core): OpenedModule | undefined;
}

/** What the running core gives to a module. */
export interface Core extends ApiParts {
  readonly api: Api;
  /** Whether Usher serves an account page. */
  readonly hasAccountPage: boolean;
  readonly hasOidc: boolean;
  readonly onMessage: (applicationId: string) => void;
  readonly secrets: Secrets;
  readonly trustedProxies: BlockList;
  /** How this machine reaches the server. */
  readonly url: string;
  /** The greetings of the modules that are open. Those of later modules follow. */
  readonly greetings: readonly Greeting[];
  /** Limits requests of browsers in flight. */
  readonly loginAdmission: Admission;
  /** Limits how many logins a network begins. */
  readonly logins: NetworkLimit;
  readonly mailer: MailQueue;
  readonly pages: PageParts;
  readonly protocol: Protocol | undefined;
  /** Called after sessions of a user have ended. */
  readonly onSignedOut: (userId: string) => void;
}

export interface OpenedModule extends Partial<AsyncDisposable> {
  /** Answers paths at the port of the API, before the API does. */
  readonly handler?: PathHandler;
  /** The same, after the API. */
  readonly laterHandlers?: readonly PathHandler[];
  /** By their names in the metrics. */
  readonly caches?: Readonly<Record<string, { readonly lookUps: Api['caches']['sessions']['lookUps'] }>>;
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
  /** Makes values for the variables in the examples of the API reference. Only this machine may see them. */
  readonly readExampleValues?: () => Promise<Readonly<Record<string, string>>>;
}
