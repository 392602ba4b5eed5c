import { randomUUID } from 'node:crypto';
import type { LoginPage } from '../../../support/login-browser.ts';
import { authorizationOf } from '../../../support/oidc.ts';
import { SoftwarePasskey } from '../../../support/passkey.ts';
import { savePasskey, sendPasskey, TO_PASSKEYS } from '../../../support/passkey-page.ts';
import { PUBLIC_URL } from '../../../support/service.ts';
import {
  ADD_PASSKEY,
  CONTINUE,
  CONTINUE_SILENTLY,
  SIGN_IN,
  SIGN_IN_BY_PASSKEY,
  SIGN_IN_BY_PROVIDER,
} from '../checker/browser-model.ts';
import type { Answer } from '../checker/operation.ts';
import {
  attempt,
  type Browser,
  findForm,
  isAtApplication,
  LoginPages,
  type Person,
  readRefusal,
} from './login-pages.ts';
import { pick, pickWeighted } from './random.ts';
import { Recoveries } from './recoveries.ts';
import type { Actor, Scene } from './scene.ts';

const PEOPLE = 3;
const CALLS = 80;
/** At most, so that no limit of passkeys is reached. */
const PASSKEYS = 6;
const OF_BROWSER = {
  signIn: 8,
  signInByPasskey: 14,
  signInByProvider: 6,
  addPasskey: 8,
  continueSilently: 24,
  continueAs: 10,
  forget: 3,
};
const OF_USER = {
  listPasskeys: 8,
  deletePasskey: 3,
  listIdentities: 6,
  deleteIdentity: 2,
  revokeUserSessions: 2,
  endUserSessions: 2,
  deactivate: 1,
  reactivate: 4,
  recover: 14,
};

/** Sign-ins on the login page by wallet, passkey and provider, and what browsers remember, against what ends them. */
export class Browsers implements Actor {
  readonly #scene: Scene;
  readonly #pages: LoginPages;
  readonly #recoveries: Recoveries;
  readonly #people: (Person | undefined)[] = Array(PEOPLE).fill(undefined);

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#pages = new LoginPages(scene, 'browser');
    this.#recoveries = new Recoveries(scene, this.#pages);
  }

  async step(): Promise<void> {
    const at = Math.floor(Math.random() * PEOPLE);
    const person = this.#people[at];
    if (!person || person.calls++ > CALLS) {
      this.#people[at] = undefined;
      this.#people[at] = await this.#pages.createPerson();
      return;
    }
    if (Math.random() < 0.3) {
      await this.#ofUser[pickWeighted(OF_USER)](person);
      return;
    }
    const browser = pick(person.browsers);
    // A person does one thing at a time in a browser.
    if (browser.isBusy) return;
    browser.isBusy = true;
    await this.#ofBrowser[pickWeighted(OF_BROWSER)](person, browser).finally(() => {
      browser.isBusy = false;
    });
  }

  readonly #ofUser: Readonly<Record<keyof typeof OF_USER, (person: Person) => Promise<unknown>>> = {
    listPasskeys: (person) => this.#pages.call('AdminService/ListPasskeys', person),
    deletePasskey: (person) => this.#deletePasskey(person),
    listIdentities: (person) => this.#pages.call('AdminService/ListUserIdentities', person),
    deleteIdentity: (person) => this.#deleteIdentity(person),
    revokeUserSessions: (person) => this.#pages.call('SessionService/RevokeUserSessions', person),
    endUserSessions: (person) => this.#pages.call('AdminService/EndUserSessions', person),
    deactivate: (person) => this.#pages.call('AdminService/DeactivateUser', person),
    reactivate: (person) => this.#pages.call('AdminService/ReactivateUser', person),
    recover: (person) => this.#recover(person),
  };

  readonly #ofBrowser: Readonly<
    Record<keyof typeof OF_BROWSER, (person: Person, browser: Browser) => Promise<unknown>>
  > = {
    signIn: (person, browser) => this.#signIn(person, browser),
    signInByPasskey: (person, browser) => this.#signInByPasskey(person, browser),
    signInByProvider: (person, browser) => this.#signInByProvider(person, browser),
    addPasskey: (person, browser) => this.#addPasskey(person, browser),
    continueSilently: (person, browser) => this.#continueSilently(person, browser),
    continueAs: (person, browser) => this.#continueAs(person, browser),
    forget: (person, browser) => this.#pages.choose(person, browser),
  };

  /** Signs in with the wallet. Returns the next page, and by which name the checker knows the sign-in. */
  async #signIn(person: Person, browser: Browser, more: Readonly<Record<string, string>> = {}) {
    const page = await this.#pages.choose(person, browser);
    const form = page && findForm(page, '/login/wallet');
    if (!page || !form) return undefined;
    const { wallet } = person;
    const message = await attempt(async () => {
      const fields = { ...form.fields, address: wallet.address };
      const reply = await this.#pages.at(browser).post('/login/wallet/challenge', fields);
      return reply.status === 200 ? String(JSON.parse(reply.body).message) : undefined;
    });
    if (message === undefined) return undefined;
    const typed = { signature: wallet.sign(message), ...more };
    const proof = randomUUID();
    const next = await this.#pages.signIn(
      SIGN_IN,
      person,
      browser,
      (headers) => this.#pages.at(browser).submit(page, '/login/wallet', typed, headers),
      { proof },
    );
    return next && { next, proof };
  }

  async #signInByPasskey(person: Person, browser: Browser): Promise<void> {
    if (person.passkeys.length === 0) return;
    const passkey = pick(person.passkeys);
    const page = await this.#pages.choose(person, browser);
    if (!page || !findForm(page, '/login/passkey')) return;
    await this.#pages.signIn(
      SIGN_IN_BY_PASSKEY,
      person,
      browser,
      (headers) => sendPasskey({ browser: this.#pages.at(browser), page }, passkey, PUBLIC_URL, {}, headers),
      { passkey: passkey.aaguid },
    );
  }

  /** The provider vouches for the address, so it links the account of everybody who comes from it. */
  async #signInByProvider(person: Person, browser: Browser): Promise<void> {
    const { provider } = this.#scene;
    const page = await this.#pages.choose(person, browser);
    if (!page || !findForm(page, '/login/provider')) return;
    const sent = await attempt(() => this.#pages.at(browser).submit(page, '/login/provider'));
    if (!sent?.location?.startsWith(provider.origin)) return;
    const claims = { sub: person.userId, email: person.email, email_verified: true };
    const callback = provider.signIn(sent.location, claims);
    await this.#pages.signIn(SIGN_IN_BY_PROVIDER, person, browser, (headers) =>
      this.#pages.at(browser).open(callback, 'GET', headers),
    );
  }

  async #addPasskey(person: Person, browser: Browser): Promise<void> {
    if (person.passkeys.length >= PASSKEYS) return;
    const signedIn = await this.#signIn(person, browser, TO_PASSKEYS);
    if (signedIn) await this.#savePasskey(person, browser, signedIn.next, signedIn.proof);
  }

  async #recover(person: Person): Promise<void> {
    const used = await this.#recoveries.step(person);
    if (used && person.passkeys.length < PASSKEYS) {
      await this.#savePasskey(person, used.browser, used.page, used.link.id);
    }
  }

  async #savePasskey(person: Person, browser: Browser, page: LoginPage, proof: string): Promise<void> {
    if (!findForm(page, '/login/passkey/new')) return;
    const passkey = new SoftwarePasskey({ aaguid: randomUUID() });
    person.passkeys.push(passkey);
    const input = { passkey: passkey.aaguid, proof };
    await this.#pages.record(
      ADD_PASSKEY,
      person,
      browser,
      async (headers) => {
        const reply = await savePasskey({ browser: this.#pages.at(browser), page }, passkey, PUBLIC_URL, {}, headers);
        return reply.heading === 'Your passkeys' && reply.alert === '' ? { answer: {} } : readRefusal(reply);
      },
      input,
    );
  }

  async #deletePasskey(person: Person): Promise<void> {
    const listed = await this.#pages.call('AdminService/ListPasskeys', person);
    const passkeys = listed?.passkeys ?? [];
    if (passkeys.length === 0) return;
    const { passkeyId, aaguid } = pick(passkeys);
    await this.#pages.call('AdminService/DeletePasskey', person, { input: { passkey: aaguid }, more: { passkeyId } });
  }

  async #deleteIdentity(person: Person): Promise<void> {
    const listed = await this.#pages.call('AdminService/ListUserIdentities', person);
    const [identity] = listed?.identities ?? [];
    if (!identity) return;
    const { issuer, subject } = identity;
    await this.#pages.call('AdminService/DeleteUserIdentity', person, { more: { issuer, subject } });
  }

  #continueSilently(person: Person, browser: Browser): Promise<Answer | undefined> {
    const query = authorizationOf(this.#scene.oidcApplication, { prompt: 'none' });
    return this.#pages.record(CONTINUE_SILENTLY, person, browser, async (headers) => {
      const { location, ...page } = await this.#pages.at(browser).open(`/oidc/authorize?${query}`, 'GET', headers);
      if (!location) return readRefusal(page);
      const { searchParams } = new URL(location);
      if (searchParams.has('code')) return { answer: { active: true } };
      const error = searchParams.get('error') ?? '';
      return error === 'login_required' ? { answer: {} } : { code: error, message: error };
    });
  }

  async #continueAs(person: Person, browser: Browser): Promise<void> {
    const page: LoginPage | undefined = await this.#pages.open(browser);
    if (!page || !findForm(page, '/login/continue')) return;
    await this.#pages.record(CONTINUE, person, browser, async (headers) => {
      const reply = await this.#pages.at(browser).submit(page, '/login/continue', {}, headers);
      if (isAtApplication(reply)) return { answer: { active: true } };
      return reply.status < 500 ? { answer: {} } : readRefusal(reply);
    });
  }
}
