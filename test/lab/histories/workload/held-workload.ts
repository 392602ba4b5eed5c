/** People whose sign-ins wait for a second step on other replicas, while operators end them. */
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { encodeBase32 } from '../../../../src/encoding/base32.ts';
import type { LoginPage } from '../../../support/login-browser.ts';
import { STEP, TestApp } from '../../../support/second-factor.ts';
import { adminClient } from '../../../support/service.ts';
import { Wallet } from '../../../support/wallet.ts';
import { BY_APP, BY_RECOVERY, FIRST_STEP } from '../checker/held-model.ts';
import {
  attempt,
  type Browser,
  findForm,
  isAtApplication,
  LoginPages,
  newBrowser,
  type PagesScene,
  readRefusal,
} from './login-pages.ts';
import { pick, pickWeighted } from './random.ts';

const PEOPLE = 3;
const VISITORS = 3;
/** After so many calls another person takes the place. */
const CALLS = 60;
const PAUSE_MS = 25;
const ENDS = {
  'SessionService/RevokeUserSessions': 4,
  'AdminService/EndUserSessions': 4,
  'AdminService/UpdateUser': 4,
  'AdminService/DeactivateUser': 2,
  'AdminService/ReactivateUser': 6,
  'AdminService/GetSecondFactor': 6,
  'AdminService/ResetSecondFactor': 1,
  'AdminService/EraseUser': 1,
};

interface Person {
  readonly userId: string;
  readonly wallet: Wallet;
  readonly app: TestApp;
  readonly held: Held[];
  calls: number;
}

interface Held {
  readonly id: string;
  readonly browser: Browser;
  readonly page: LoginPage;
}

/** Starts the people and operators. The function that it returns stops them. */
export function startHeldSignIns(scene: PagesScene): () => Promise<void> {
  const pages = new LoginPages(scene, 'held');
  let isOver = false;
  const work = Array.from({ length: PEOPLE }, async () => {
    while (!isOver) {
      const person = await createPerson(scene, pages);
      if (!person) {
        await pause();
        continue;
      }
      const isDone = () => isOver || person.calls > CALLS;
      const visitors = Array.from({ length: VISITORS }, () => keepSigningIn(pages, person, isDone));
      await Promise.all([...visitors, keepEnding(pages, person, isDone)]);
    }
  });
  return async () => {
    isOver = true;
    await Promise.all(work);
  };
}

/** Returns a person with ten recovery codes, after a sign-in by the app. Undefined where that did not work. */
async function createPerson({ urls }: PagesScene, pages: LoginPages): Promise<Person | undefined> {
  const [wallet, app] = [new Wallet(), new TestApp(randomBytes(20))];
  const user = {
    email: `${randomUUID()}@example.com`,
    walletAddress: wallet.address,
    totpSecret: encodeBase32(app.secret),
  };
  const created = await attempt(() => adminClient({ url: pick(urls) }).batchCreateUsers({ users: [user] }));
  const userId = created?.results[0]?.id;
  if (!userId) return undefined;
  const browser = newBrowser();
  const step = await attempt(() => sendFirstStep(pages, browser, wallet));
  if (!step || !findForm(step, STEP)) return undefined;
  // Earlier than any code of the history.
  const code = app.codeAt(new Date(), -1);
  const shown = await attempt(() => pages.at(browser).submit(step, STEP, { code }));
  app.recoveryCodes = [...(shown?.body ?? '').matchAll(/<li><bdi>([0-9a-z-]{19})<\/bdi>/g)].map(
    ([, each = '']) => each,
  );
  return app.recoveryCodes.length === 10 ? { userId, wallet, app, held: [], calls: 0 } : undefined;
}

async function keepSigningIn(pages: LoginPages, person: Person, isDone: () => boolean): Promise<void> {
  while (!isDone()) {
    if (person.held.length < 2) await takeFirstStep(pages, person);
    // The same code in several browsers, on several replicas.
    const code = Math.random() < 0.7 ? { number: Math.floor(Math.random() * 10) } : { step: pick([0, 1]) };
    const tried = person.held.splice(0, pick([1, 2]));
    await Promise.all(tried.map((held) => takeSecondStep(pages, person, held, code)));
    await pause();
  }
}

async function sendFirstStep(pages: LoginPages, browser: Browser, wallet: Wallet, headers = {}): Promise<LoginPage> {
  const page = await pages.open(browser);
  const form = page && findForm(page, '/login/wallet');
  if (!page || !form) throw new Error('The page has no form');
  const fields = { ...form.fields, address: wallet.address };
  const { body } = await pages.at(browser).post('/login/wallet/challenge', fields);
  const signature = wallet.sign(String(JSON.parse(body).message));
  return pages.at(browser).submit(page, '/login/wallet', { signature }, headers);
}

async function takeFirstStep(pages: LoginPages, person: Person): Promise<void> {
  const [browser, id] = [newBrowser(), randomUUID()];
  person.calls++;
  await pages.record(
    FIRST_STEP,
    person,
    browser,
    async (headers) => {
      const page = await sendFirstStep(pages, browser, person.wallet, headers);
      if (isAtApplication(page)) return { answer: { active: true } };
      // Whether something has refused it, or has ended it before the page was shown, nobody can tell.
      if (!findForm(page, STEP)) return page.status < 500 ? 'unsent' : readRefusal(page);
      // Some wait until something has ended them.
      person.held.push({ id, browser, page });
      return { answer: {} };
    },
    { held: id },
  );
}

type Code = { readonly number: number } | { readonly step: number };

async function takeSecondStep(pages: LoginPages, person: Person, { id, browser, page }: Held, code: Code) {
  const { app } = person;
  const now = new Date();
  const [rpc, path, typed, number] =
    'step' in code
      ? [BY_APP, STEP, app.codeAt(now, code.step), Math.floor(now.getTime() / 30_000) + code.step]
      : [BY_RECOVERY, `${STEP}/recovery`, app.recoveryCodes[code.number] ?? '', code.number];
  person.calls++;
  await pages.record(
    rpc,
    person,
    browser,
    async (headers) => {
      const fields = { ...findForm(page, STEP)?.fields, code: typed };
      const reply = await pages.at(browser).post(path, fields, headers);
      if (isAtApplication(reply) || reply.heading.startsWith('Recovery codes left'))
        return { answer: { active: true } };
      // Nothing was tried.
      if (reply.alert.startsWith('Too many attempts')) return 'unsent';
      return reply.status < 500 ? { answer: {} } : readRefusal(reply);
    },
    { held: id, code: number },
  );
}

async function keepEnding(pages: LoginPages, person: Person, isDone: () => boolean): Promise<void> {
  while (!isDone()) {
    await sleep(10 * PAUSE_MS * Math.random());
    const rpc = pickWeighted(ENDS);
    // Most people live long enough for the others.
    if (/Reset|Erase/.test(rpc) && person.calls < CALLS / 2) continue;
    person.calls++;
    const more = rpc === 'AdminService/UpdateUser' ? { email: `${randomUUID()}@example.com` } : {};
    await pages.call(rpc, person, { more });
    if (rpc === 'AdminService/DeactivateUser') await pages.call('AdminService/ReactivateUser', person);
  }
}

const pause = () => sleep(PAUSE_MS * 2 * Math.random());
