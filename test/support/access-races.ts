/** Users who lose the access to a restricted application while they come in by every door, on two replicas. */
import { expect } from 'vitest';
import { FakeProvider } from './fake-provider.ts';
import { formOf } from './login-browser.ts';
import { LoginFixture } from './login-fixture.ts';
import { authorizationOf, createRsaJwk, parametersOf } from './oidc.ts';
import { redeem, refresh, signInForCode } from './oidc-client.ts';
import { SoftwarePasskey } from './passkey.ts';
import { savePasskey, sendPasskey } from './passkey-page.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createLoginIntent,
  createTenant,
  createTestGroup,
  createTestUser,
  logIn,
  PUBLIC_URL,
  type Tenant,
  type TestService,
  type TestUser,
} from './service.ts';
import { Wallet } from './wallet.ts';

/** What somebody holds who has come in. */
type Held = Partial<Record<'authToken' | 'sessionId' | 'code' | 'refreshToken', string>>;

/** Comes in at one of the replicas. Resolves to nothing if the door is shut. */
type Enter = (at: TestService) => Promise<Held>;

const LOSSES = ['RemoveGroupMember', 'DeleteGroup', 'SetGroupAccess', 'RemoveApplicationUser'] as const;

/** How many have come in, or found the door shut, before the access is taken away. In every fifth round, all. */
const AHEAD = [Number.POSITIVE_INFINITY, 0, 5, 2, 8];

export class AccessRaces implements AsyncDisposable {
  readonly #fixture: LoginFixture;
  readonly #acme: FakeProvider;
  readonly #replica: TestService;
  readonly #shop: Tenant;
  readonly #grafana: Tenant;
  /** How often somebody came in by a door, and was shut out afterwards, or found it shut. */
  readonly counts: Record<string, { entered: number; shut: number }> = {};

  private constructor(
    [fixture, replica]: readonly [LoginFixture, TestService],
    acme: FakeProvider,
    [shop, grafana]: readonly [Tenant, Tenant],
  ) {
    [this.#fixture, this.#replica, this.#acme, this.#shop, this.#grafana] = [fixture, replica, acme, shop, grafana];
  }

  static async open(): Promise<AccessRaces> {
    const acme = await FakeProvider.start();
    const config = {
      loginMethods: ['wallet', 'email', 'passkey'] as const,
      loginProviders: [acme.settings()],
      loginProviderIds: undefined,
    };
    const fixture = await LoginFixture.open({ config, start: new Date(), oidcSigningKeys: [createRsaJwk()] });
    const { service } = fixture;
    const shop = await createTenant(service, { name: 'Shop', singleSignOn: true });
    const grafana = await createTenant(service, {
      name: 'Grafana',
      singleSignOn: true,
      openIdConnect: true,
      restrictAccess: true,
    });
    return new AccessRaces([fixture, await fixture.startReplica(config)], acme, [shop, grafana]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#replica.close();
    await this.#fixture.close();
    await this.#acme.stop();
  }

  /** In each round a user comes in by every door, and loses the access meanwhile. */
  async race(rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      const loss = LOSSES[round % LOSSES.length] ?? 'RemoveGroupMember';
      const { user, wallet, lose } = await this.#createUser(loss);
      const doors = Object.entries(await this.#openDoors(user, wallet));
      this.#fixture.clock.advance(1);
      const entering = doors.map(async ([door, enter], index) => {
        await waitTurns((index * 3 + round) % 17);
        const held = await enter(this.#at(index + round)).catch((): Held => ({}));
        const { entered, shut } = this.counts[door] ?? { entered: 0, shut: 0 };
        const isIn = Object.values(held).some(Boolean);
        this.counts[door] = { entered: entered + Number(isIn), shut: shut + Number(!isIn) };
        return [door, held] as const;
      });
      await waitForSome(entering, AHEAD[round % AHEAD.length] ?? 0);
      await lose(this.#at(round + 1));
      for (const [door, held] of await Promise.all(entering)) {
        for (const at of [this.#fixture.service, this.#replica])
          expect(await this.#uses(at, held), `round ${round}: ${loss}, ${door}`).toEqual([]);
      }
      const again = this.#completeLogin(this.#fixture.service, user).then(
        () => 'in',
        ({ rawMessage }) => rawMessage,
      );
      expect(await again).toBe('Access not allowed');
    }
  }

  #at(index: number): TestService {
    return index % 2 === 0 ? this.#fixture.service : this.#replica;
  }

  async #createUser(loss: (typeof LOSSES)[number]) {
    const { service } = this.#fixture;
    const wallet = new Wallet();
    const user = await createTestUser(service, { walletAddress: wallet.address });
    const ids = { applicationId: this.#grafana.id, userId: user.id };
    if (loss === 'RemoveApplicationUser') {
      await adminClient(service).addApplicationUser(ids);
      return { user, wallet, lose: (at: TestService) => adminClient(at).removeApplicationUser(ids) };
    }
    const { groupId } = await createTestGroup(service, { userIds: [user.id] });
    const access = { groupId, applicationId: this.#grafana.id };
    await adminClient(service).setGroupAccess({ ...access, allowsAccess: true });
    const lose = async (at: TestService): Promise<unknown> => {
      const admin = adminClient(at);
      if (loss === 'RemoveGroupMember') return admin.removeGroupMember({ groupId, userId: user.id });
      return loss === 'DeleteGroup' ? admin.deleteGroup({ groupId }) : admin.setGroupAccess(access);
    };
    return { user, wallet, lose };
  }

  async #completeLogin(at: TestService, { id: userId }: TestUser): Promise<Held> {
    const loginIntentId = await createLoginIntent(at, this.#grafana);
    const { authToken } = await adminClient(at).completeLogin({ loginIntentId, userId });
    return { authToken };
  }

  /** Brings the user to every door. What needs a sign-in before is done here. */
  async #openDoors(user: TestUser, wallet: Wallet): Promise<Readonly<Record<string, Enter>>> {
    const { service, clock, mailbox } = this.#fixture;
    const of = this.#grafana;
    // It is made to users without a passkey.
    const offered = await this.#fixture.askForCode({ of, user });
    const offer = await offered.browser.submit(offered.codePage, '/login/code', { code: offered.code, passkey: '1' });
    formOf(offer, '/login/passkey/new');
    clock.advance(60_000);
    const { submit } = await this.#withPasskey(user);
    clock.advance(60_000);
    const asked = await this.#fixture.askForCode({ of, user });
    const { code } = asked;
    expect(mailbox.codeFor(user.email)).toBe(code);
    const signed = await this.#fixture.askForMessage(wallet.address, { of });
    const signature = wallet.sign(signed.message);
    const toProvider = await this.#arriveAtProvider(user);
    const remembered = await this.#remember(user);
    const arrived = await this.#fixture.arrive({ browser: remembered, of });
    const authToken = await logIn(service, of, user);
    const sessionId = await beginSession(service, of, user);
    const oidcCode = await signInForCode(service, of, user);
    const refreshToken = (await redeem(service, of, await signInForCode(service, of, user))).body.refresh_token;
    const tokenOf = ({ location }: { location?: string | undefined }): Held => {
      const { authToken: token } = parametersOf(location);
      return token === undefined ? {} : { authToken: token };
    };
    return {
      code: async (at) => tokenOf(await asked.enter(code, at)),
      wallet: async (at) => tokenOf(await signed.send(signature, at)),
      passkey: async () => tokenOf(await submit()),
      'the offer of a passkey': async (at) =>
        tokenOf(await savePasskey({ browser: offered.browser.at(at), page: offer }, new SoftwarePasskey(), PUBLIC_URL)),
      provider: async (at) => tokenOf(await toProvider.browser.at(at).open(toProvider.answer)),
      'Continue as': async (at) => tokenOf(await remembered.at(at).submit(arrived.page, '/login/continue')),
      CompleteLogin: (at) => this.#completeLogin(at, user),
      ExchangeToken: async (at) => {
        const { session } = await clientsOf(at, of).auth.exchangeToken({ authToken });
        return { sessionId: session?.id ?? '' };
      },
      RenewSession: async (at) => {
        const { session } = await clientsOf(at, of).sessions.renewSession({ sessionId });
        return { sessionId: session?.id ?? '' };
      },
      'a code of OpenID Connect': async (at) => tokensOf((await redeem(at, of, oidcCode)).body),
      'a refresh': async (at) => tokensOf((await refresh(at, of, refreshToken)).body),
      'prompt=none': async (at) => {
        const { location } = await remembered.at(at).open(`/oidc/authorize?${authorizationOf(of, { prompt: 'none' })}`);
        const parameters = parametersOf(location);
        return parameters.code === undefined ? {} : { code: parameters.code };
      },
    };
  }

  /** Gives the user a passkey at the shop, and returns how it signs in to Grafana. */
  async #withPasskey(user: TestUser) {
    const passkey = new SoftwarePasskey();
    const { browser, codePage, code } = await this.#fixture.askForCode({ of: this.#shop, user });
    const page = await browser.submit(codePage, '/login/code', { code, passkey: '1' });
    await savePasskey({ browser, page }, passkey, PUBLIC_URL);
    this.#fixture.clock.advance(60_000);
    const arrived = await this.#fixture.arrive({ of: this.#grafana });
    return { submit: () => sendPasskey(arrived, passkey, PUBLIC_URL) };
  }

  async #arriveAtProvider(user: TestUser) {
    const { issuer } = this.#acme.settings();
    await this.#fixture.service.database
      .sql`insert into user_identities (issuer, subject, user_id, provider, created_at)
      values (${issuer ?? ''}, ${user.id}, ${user.id}, 'acme', now())`;
    const { browser, page } = await this.#fixture.arrive({ of: this.#grafana });
    const form = page.forms.find(({ fields }) => fields.provider === 'acme');
    const { location } = await browser.post('/login/provider', { ...form?.fields });
    return { browser, answer: this.#acme.signIn(location, { sub: user.id }) };
  }

  /** Returns a browser that has signed in at the shop. */
  async #remember(user: TestUser) {
    this.#fixture.clock.advance(60_000);
    const { browser, submit } = await this.#fixture.readyByEmail({ of: this.#shop, user });
    await submit();
    this.#fixture.clock.advance(60_000);
    return browser;
  }

  /** Returns what somebody can still do with what they hold. */
  async #uses(at: TestService, { authToken, sessionId, code, refreshToken }: Held): Promise<string[]> {
    const { auth, sessions } = clientsOf(at, this.#grafana);
    const succeeds = (call: Promise<unknown>) => call.then(Boolean, () => false);
    const isGranted = ({ status }: { status: number }) => status === 200;
    const uses = {
      exchange: authToken && (await succeeds(auth.exchangeToken({ authToken }))),
      check: sessionId && (await sessions.checkSession({ sessionId, maxStalenessMs: 0 })).active,
      renew: sessionId && (await succeeds(sessions.renewSession({ sessionId }))),
      redeem: code && isGranted(await redeem(at, this.#grafana, code)),
      refresh: refreshToken && isGranted(await refresh(at, this.#grafana, refreshToken)),
    };
    return Object.entries(uses).flatMap(([name, works]) => (works ? [name] : []));
  }
}

function tokensOf({ refresh_token: refreshToken }: Readonly<Record<string, string>>): Held {
  return refreshToken === undefined ? {} : { refreshToken };
}

async function waitForSome(promises: readonly Promise<unknown>[], count: number): Promise<void> {
  const enough = Promise.withResolvers<void>();
  let settled = 0;
  const onSettled = () => {
    settled++;
    if (settled >= Math.min(count, promises.length)) enough.resolve();
  };
  for (const promise of promises) promise.finally(onSettled);
  if (count === 0) return;
  await enough.promise;
}

async function waitTurns(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
}
