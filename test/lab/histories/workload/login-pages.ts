/** The login page in the browsers of a history. */
import { randomUUID } from 'node:crypto';
import { LoginBrowser, type LoginPage } from '../../../support/login-browser.ts';
import { authorizationOf } from '../../../support/oidc.ts';
import type { SoftwarePasskey } from '../../../support/passkey.ts';
import { Wallet } from '../../../support/wallet.ts';
import { FORGET } from '../checker/browser-model.ts';
import type { Answer, Input } from '../checker/operation.ts';
import type { Reply } from './client.ts';
import { pick } from './random.ts';
import { callAny, type Scene } from './scene.ts';

const BROWSERS = 2;
const COOKIE = '__Host-usher-sso';
const APPLICATION = 'https://app.test/';

export interface Person {
  readonly userId: string;
  readonly email: string;
  readonly wallet: Wallet;
  readonly passkeys: SoftwarePasskey[];
  readonly browsers: readonly Browser[];
  calls: number;
}

export interface Browser {
  readonly cookies: Map<string, string>;
  readonly address: string;
  isBusy: boolean;
}

export type PagesScene = Pick<Scene, 'recorder' | 'replicas' | 'urls' | 'oidcApplication'>;

export class LoginPages {
  readonly #scene: PagesScene;
  /** What the calls are about. */
  readonly #kind: string;

  constructor(scene: PagesScene, kind: string) {
    this.#scene = scene;
    this.#kind = kind;
  }

  async createPerson(): Promise<Person | undefined> {
    const wallet = new Wallet();
    const request = { email: `${randomUUID()}@example.com`, walletAddress: wallet.address };
    const created = await callAny(this.#scene, { rpc: 'AdminService/CreateUser', subject: 'person', request });
    const userId = created?.user?.id;
    if (userId === undefined) return undefined;
    const browsers = Array.from({ length: BROWSERS }, newBrowser);
    return { userId, email: request.email, wallet, passkeys: [], browsers, calls: 0 };
  }

  /** The browser with requests to any replica. */
  at(browser: Browser): LoginBrowser {
    return new LoginBrowser({ url: pick(this.#scene.urls) }, browser);
  }

  /** A browser of anybody else. */
  atAnyone(): LoginBrowser {
    return new LoginBrowser({ url: pick(this.#scene.urls) });
  }

  /** Opens a login. Returns undefined if that does not work. */
  open(browser: Browser): Promise<LoginPage | undefined> {
    const query = authorizationOf(this.#scene.oidcApplication);
    return attempt(async () => {
      const { location = '' } = await this.at(browser).open(`/oidc/authorize?${query}`);
      return this.at(browser).open(location.slice(new URL(location).origin.length));
    });
  }

  /** Opens a login, and forgets the remembered sign-in if there is one. Returns the page for the choice. */
  async choose(person: Person, browser: Browser): Promise<LoginPage | undefined> {
    const page = await this.open(browser);
    if (!page?.forms.some(({ action }) => action === '/login/forget')) return page;
    let chosen: LoginPage | undefined;
    await this.record(FORGET, person, browser, async (headers) => {
      chosen = await this.at(browser).submit(page, '/login/forget', {}, headers);
      return chosen.status === 200 ? { answer: {} } : readRefusal(chosen);
    });
    return chosen;
  }

  /** Records a request that may complete a login. Returns the page that comes after it. */
  async signIn(
    rpc: string,
    person: Person,
    browser: Browser,
    send: (headers: Record<string, string>) => Promise<LoginPage>,
    input: Input = {},
  ): Promise<LoginPage | undefined> {
    const former = rememberedBy(browser);
    let page: LoginPage | undefined;
    const answer = await this.record(
      rpc,
      person,
      browser,
      async (headers) => {
        page = await send(headers);
        const isSignedIn = page.location?.startsWith(APPLICATION) || findForm(page, '/login/passkey/new');
        if (!isSignedIn) return readRefusal(page);
        const remembered = rememberedBy(browser);
        // Nobody can tell what became of a sign-in that was not remembered.
        return remembered === former ? 'lost' : { answer: { remembered } };
      },
      input,
    );
    // Without an answer, the former sign-in may have been replaced, and may not.
    if (!answer) browser.cookies.delete(COOKIE);
    return answer && page;
  }

  record(
    rpc: string,
    { userId }: Pick<Person, 'userId'>,
    browser: Browser,
    send: (headers: Record<string, string>) => Promise<Reply>,
    input: Input = {},
  ): Promise<Answer | undefined> {
    const call = { rpc, subject: `${this.#kind} ${userId}`, input: { remembered: rememberedBy(browser), ...input } };
    return this.#scene.recorder.record(-1, call, async (requestId) => {
      return (await attempt(() => send({ 'x-request-id': requestId }))) ?? 'lost';
    });
  }

  /** Calls an RPC about the user. */
  call(
    rpc: string,
    { userId }: Pick<Person, 'userId'>,
    { input = {}, more = {} }: { input?: Input; more?: object } = {},
  ) {
    const { apiKey } = this.#scene.oidcApplication;
    return callAny(this.#scene, {
      rpc,
      subject: `${this.#kind} ${userId}`,
      input,
      request: { userId, ...more },
      apiKey,
    });
  }
}

export function findForm(page: LoginPage, action: string): LoginPage['forms'][number] | undefined {
  return page.forms.find((form) => form.action === action);
}

export function isAtApplication({ location }: LoginPage): boolean {
  return location?.startsWith(APPLICATION) ?? false;
}

/** What happened before a page of a login that something has ended meanwhile, nobody can tell. */
export function readRefusal({ status, heading }: Pick<LoginPage, 'status' | 'heading'>): Reply {
  if (heading === 'This sign-in has been used') return 'lost';
  return status < 500 ? { code: 'failed_precondition', message: heading } : { code: 'unavailable', message: heading };
}

/** Returns undefined if a connection is lost, or a page is not what it should be. */
export async function attempt<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work();
  } catch {
    return undefined;
  }
}

export function newBrowser(): Browser {
  const [b, c, d] = Array.from({ length: 3 }, () => Math.floor(Math.random() * 256));
  return { cookies: new Map(), address: `12.${b}.${c}.${d}`, isBusy: false };
}

function rememberedBy({ cookies }: Browser): string {
  return cookies.get(COOKIE) ?? '';
}
