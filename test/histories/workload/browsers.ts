import { randomUUID } from 'node:crypto';
import { LoginBrowser, type LoginPage } from '../../support/login-browser.ts';
import { authorizationOf } from '../../support/oidc.ts';
import { Wallet } from '../../support/wallet.ts';
import { CONTINUE, CONTINUE_SILENTLY, FORGET, SIGN_IN } from '../checker/browser-model.ts';
import type { Answer } from '../checker/operation.ts';
import type { Reply } from './client.ts';
import { pick, pickWeighted } from './random.ts';
import { type Actor, callAny, type Scene } from './scene.ts';

const PEOPLE = 3;
const BROWSERS = 2;
const CALLS = 60;
const APPLICATION = 'https://app.test/';
const WEIGHTS = {
  signIn: 12,
  continueSilently: 30,
  continueAs: 10,
  forget: 3,
  revokeUserSessions: 2,
  endUserSessions: 2,
  deactivate: 1,
  reactivate: 4,
};

interface Person {
  readonly userId: string;
  readonly wallet: Wallet;
  readonly browsers: readonly { readonly cookies: Map<string, string>; readonly address: string; isBusy: boolean }[];
  calls: number;
}

type Browser = Person['browsers'][number];

/** Sign-ins on the login page, and the sign-ins that browsers remember, against everything that ends these. */
export class Browsers implements Actor {
  readonly #scene: Scene;
  readonly #people: (Person | undefined)[] = Array(PEOPLE).fill(undefined);

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  async step(): Promise<void> {
    const at = Math.floor(Math.random() * PEOPLE);
    const person = this.#people[at];
    if (!person || person.calls++ > CALLS) {
      this.#people[at] = undefined;
      this.#people[at] = await this.#create();
      return;
    }
    const name = pickWeighted(WEIGHTS);
    const ofBrowser = this.#ofBrowser[name];
    if (!ofBrowser) return this.#ofUser[name]?.(person);
    const browser = pick(person.browsers);
    // A person does one thing at a time in a browser.
    if (browser.isBusy) return;
    browser.isBusy = true;
    await ofBrowser(person, browser).finally(() => {
      browser.isBusy = false;
    });
  }

  readonly #ofUser: Partial<Readonly<Record<keyof typeof WEIGHTS, (person: Person) => Promise<void>>>> = {
    revokeUserSessions: ({ userId }) => this.#call('SessionService/RevokeUserSessions', userId),
    endUserSessions: ({ userId }) => this.#call('AdminService/EndUserSessions', userId),
    deactivate: ({ userId }) => this.#call('AdminService/DeactivateUser', userId),
    reactivate: ({ userId }) => this.#call('AdminService/ReactivateUser', userId),
  };

  readonly #ofBrowser: Partial<
    Readonly<Record<keyof typeof WEIGHTS, (person: Person, browser: Browser) => Promise<unknown>>>
  > = {
    signIn: (person, browser) => this.#signIn(person, browser),
    continueSilently: (person, browser) => this.#continueSilently(person, browser),
    continueAs: (person, browser) => this.#continueAs(person, browser),
    forget: (person, browser) => this.#choose(person, browser),
  };

  async #create(): Promise<Person | undefined> {
    const wallet = new Wallet();
    const request = { email: `${randomUUID()}@example.com`, walletAddress: wallet.address };
    const created = await callAny(this.#scene, { rpc: 'AdminService/CreateUser', subject: 'person', request });
    const userId = created?.user?.id;
    const browsers = Array.from({ length: BROWSERS }, () => ({ ...newBrowser(), isBusy: false }));
    return userId === undefined ? undefined : { userId, wallet, browsers, calls: 0 };
  }

  /** Opens a login at any replica. Returns undefined if that does not work. */
  async #open(browser: Browser): Promise<LoginPage | undefined> {
    const query = authorizationOf(this.#scene.oidcApplication);
    return attempt(async () => {
      const { location = '' } = await this.#at(browser).open(`/oidc/authorize?${query}`);
      return this.#at(browser).open(location.slice(new URL(location).origin.length));
    });
  }

  /** Opens a login, and forgets the remembered sign-in if there is one. Returns the page for the choice. */
  async #choose(person: Person, browser: Browser): Promise<LoginPage | undefined> {
    const page = await this.#open(browser);
    if (!page?.forms.some(({ action }) => action === '/login/forget')) return page;
    let chosen: LoginPage | undefined;
    await this.#record(FORGET, person, browser, async (headers) => {
      chosen = await this.#at(browser).submit(page, '/login/forget', {}, headers);
      return chosen.status === 200 ? { answer: {} } : readRefusal(chosen);
    });
    return chosen;
  }

  async #signIn(person: Person, browser: Browser): Promise<void> {
    const page = await this.#choose(person, browser);
    const form = page?.forms.find(({ action }) => action === '/login/wallet');
    if (!page || !form) return;
    const { wallet } = person;
    const message = await attempt(async () => {
      const fields = { ...form.fields, address: wallet.address };
      const reply = await this.#at(browser).post('/login/wallet/challenge', fields);
      return reply.status === 200 ? String(JSON.parse(reply.body).message) : undefined;
    });
    if (message === undefined) return;
    const former = rememberedBy(browser);
    await this.#record(SIGN_IN, person, browser, async (headers) => {
      const signature = wallet.sign(message);
      const reply = await this.#at(browser).submit(page, '/login/wallet', { signature }, headers);
      if (!reply.location?.startsWith(APPLICATION)) return readRefusal(reply);
      const remembered = rememberedBy(browser);
      // A sign-in that was not remembered may be one that nobody can tell the fate of.
      return remembered === former ? 'lost' : { answer: { remembered } };
    });
  }

  #continueSilently(person: Person, browser: Browser): Promise<Answer | undefined> {
    const query = authorizationOf(this.#scene.oidcApplication, { prompt: 'none' });
    return this.#record(CONTINUE_SILENTLY, person, browser, async (headers) => {
      const { location, ...page } = await this.#at(browser).open(`/oidc/authorize?${query}`, 'GET', headers);
      if (!location) return readRefusal(page);
      const { searchParams } = new URL(location);
      if (searchParams.has('code')) return { answer: { active: true } };
      const error = searchParams.get('error') ?? '';
      return error === 'login_required' ? { answer: {} } : { code: error, message: error };
    });
  }

  async #continueAs(person: Person, browser: Browser): Promise<void> {
    const page = await this.#open(browser);
    if (!page?.forms.some(({ action }) => action === '/login/continue')) return;
    await this.#record(CONTINUE, person, browser, async (headers) => {
      const reply = await this.#at(browser).submit(page, '/login/continue', {}, headers);
      if (reply.location?.startsWith(APPLICATION)) return { answer: { active: true } };
      return reply.status < 500 ? { answer: {} } : readRefusal(reply);
    });
  }

  #record(
    rpc: string,
    { userId }: Person,
    browser: Browser,
    send: (headers: Record<string, string>) => Promise<Reply>,
  ): Promise<Answer | undefined> {
    const remembered = rememberedBy(browser);
    const call = { rpc, subject: subjectOf(userId), input: { remembered } };
    return this.#scene.recorder.record(-1, call, async (requestId) => {
      return (await attempt(() => send({ 'x-request-id': requestId }))) ?? 'lost';
    });
  }

  async #call(rpc: string, userId: string): Promise<void> {
    const { apiKey } = this.#scene.oidcApplication;
    await callAny(this.#scene, { rpc, subject: subjectOf(userId), request: { userId }, apiKey });
  }

  /** The browser with requests to any replica. */
  #at(browser: Browser): LoginBrowser {
    return new LoginBrowser({ url: pick(this.#scene.urls) }, browser);
  }
}

function newBrowser() {
  const [b, c, d] = Array.from({ length: 3 }, () => Math.floor(Math.random() * 256));
  return { cookies: new Map<string, string>(), address: `12.${b}.${c}.${d}` };
}

function subjectOf(userId: string): string {
  return `browser ${userId}`;
}

function rememberedBy({ cookies }: Browser): string {
  return cookies.get('__Host-usher-sso') ?? '';
}

function readRefusal({ status, heading }: Pick<LoginPage, 'status' | 'heading'>): Reply {
  return status < 500 ? { code: 'failed_precondition', message: heading } : { code: 'unavailable', message: heading };
}

/** Returns undefined if a connection is lost, or a page is not what it should be. */
async function attempt<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work();
  } catch {
    return undefined;
  }
}
