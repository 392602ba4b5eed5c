import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { follow } from '../../../support/account-page.ts';
import type { LoginPage } from '../../../support/login-browser.ts';
import { readEmail } from '../../../support/read-email.ts';
import { CHANGE_ADDRESS, SIGN_IN_TO_ACCOUNT, UNDO } from '../checker/address-model.ts';
import { attempt, type Browser, findForm, LoginPages, type Person, readRefusal } from './login-pages.ts';
import { pick, pickWeighted } from './random.ts';
import type { Actor, Scene } from './scene.ts';

const PEOPLE = 2;
const CALLS = 40;
/** A code is sent after two seconds at most, unless something fails. */
const PATIENCE_MS = 5_000;
const POLL_MS = 50;
const WEIGHTS = { change: 20, undo: 6, read: 20, endSessions: 1 };

interface Owner extends Person {
  /** The sign-in to the account page of each browser, by the name that the checker knows. */
  readonly proofs: Map<Browser, string>;
  /** The addresses that this person has had. */
  readonly addresses: string[];
}

/** Changes of e-mail addresses on the account page, and the links that undo them. */
export class Addresses implements Actor {
  readonly #scene: Scene;
  readonly #pages: LoginPages;
  readonly #owners: (Owner | undefined)[] = Array(PEOPLE).fill(undefined);

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#pages = new LoginPages(scene, 'address');
  }

  async step(): Promise<void> {
    const at = Math.floor(Math.random() * PEOPLE);
    const owner = this.#owners[at];
    if (!owner || owner.calls++ > CALLS) {
      this.#owners[at] = undefined;
      const person = await this.#pages.createPerson();
      if (!person) return;
      const created: Owner = { ...person, proofs: new Map(), addresses: [person.email] };
      await this.#pages.call('AdminService/GetUser', created);
      this.#owners[at] = created;
      return;
    }
    await this.#steps[pickWeighted(WEIGHTS)](owner);
  }

  readonly #steps: Readonly<Record<keyof typeof WEIGHTS, (owner: Owner) => Promise<unknown>>> = {
    change: (owner) => this.#change(owner),
    undo: (owner) => this.#undo(owner),
    read: (owner) => this.#pages.call('AdminService/GetUser', owner),
    endSessions: (owner) => this.#pages.call('AdminService/EndUserSessions', owner),
  };

  async #change(owner: Owner): Promise<void> {
    const browser = pick(owner.browsers);
    if (browser.isBusy) return;
    browser.isBusy = true;
    try {
      if (!owner.proofs.has(browser)) await this.#signIn(owner, browser);
      await attempt(() => this.#enterCode(owner, browser));
    } finally {
      browser.isBusy = false;
    }
  }

  /** Signs in to the account page with the wallet. */
  async #signIn(owner: Owner, browser: Browser): Promise<void> {
    // As in a new browser: on the page of somebody who is signed in, the form leads to the passkeys.
    browser.cookies.clear();
    const begun = await attempt(async () => {
      const at = this.#pages.at(browser);
      const page = await follow(at, await at.submit(await at.open('/account'), '/account/login'));
      const form = findForm(page, '/login/wallet');
      const fields = { ...form?.fields, address: owner.wallet.address };
      const { status, body } = await at.post('/login/wallet/challenge', fields);
      return status === 200 ? { page, message: String(JSON.parse(body).message) } : undefined;
    });
    if (!begun) return;
    const proof = randomUUID();
    let completed: LoginPage | undefined;
    await this.#pages.record(
      SIGN_IN_TO_ACCOUNT,
      owner,
      browser,
      async (headers) => {
        const typed = { signature: owner.wallet.sign(begun.message) };
        completed = await this.#pages.at(browser).submit(begun.page, '/login/wallet', typed, headers);
        return completed.location?.includes('/account/return') ? { answer: {} } : readRefusal(completed);
      },
      { proof },
    );
    const opened = completed && (await attempt(() => follow(this.#pages.at(browser), completed as LoginPage)));
    if (opened && opened.status === 200 && opened.heading !== 'Your account') owner.proofs.set(browser, proof);
  }

  async #enterCode(owner: Owner, browser: Browser): Promise<void> {
    const proof = owner.proofs.get(browser);
    if (proof === undefined) return;
    const email = `${randomUUID()}@example.com`;
    const at = this.#pages.at(browser);
    const codePage = await at.submit(await at.open('/account/email'), '/account/email', { email });
    const code = await this.#receive(email);
    if (code === undefined || !findForm(codePage, '/account/email/code')) {
      owner.proofs.delete(browser);
      return;
    }
    owner.addresses.push(email);
    await this.#pages.record(
      CHANGE_ADDRESS,
      owner,
      browser,
      async (headers) => {
        const page = await this.#pages.at(browser).submit(codePage, '/account/email/code', { code }, headers);
        if (page.body.includes('Your e-mail address is changed')) return { answer: {} };
        owner.proofs.delete(browser);
        return readRefusal(page);
      },
      { email, proof },
    );
  }

  /** Returns the code that was sent to the address. */
  async #receive(email: string): Promise<string | undefined> {
    const endsAt = performance.now() + PATIENCE_MS;
    while (performance.now() < endsAt) {
      const sent = this.#scene.mail.emails.findLast(({ to }) => to.includes(email));
      const code = sent && /^\d{6,8}/.exec(readEmail(sent.raw).headers.subject ?? '')?.[0];
      if (code) return code;
      await sleep(POLL_MS);
    }
    return undefined;
  }

  /** Uses the link of a notice to one of the addresses. The browser is that of anybody. */
  async #undo(owner: Owner): Promise<void> {
    const notices = this.#scene.mail.emails
      .filter(({ to }) => to.some((address) => owner.addresses.includes(address)))
      .flatMap(({ raw }) => readUndoNotice(raw) ?? []);
    if (notices.length === 0) return;
    const { to: email, path } = pick(notices);
    const [browser] = owner.browsers;
    const anyone = this.#pages.atAnyone();
    const page = await attempt(() => anyone.open(path));
    if (!browser || !page || !findForm(page, '/account/undo')) return;
    await this.#pages.record(
      UNDO,
      owner,
      browser,
      async (headers) => {
        const done = await anyone.submit(page, '/account/undo', {}, headers);
        return done.heading === 'Your e-mail address is back' ? { answer: {} } : readRefusal(done);
      },
      { email },
    );
  }
}

/** Returns the new address that a notice of a change names, and the path of its link. */
export function readUndoNotice(raw: string): { readonly to: string; readonly path: string } | undefined {
  const { text } = readEmail(raw);
  const path = /https:\/\/usher\.test(\/account\/undo\?t=[\w.-]+)/.exec(text)?.[1];
  const to = /is now \W*([\w-]+@example\.com)/.exec(text)?.[1];
  return path && to ? { to, path } : undefined;
}
