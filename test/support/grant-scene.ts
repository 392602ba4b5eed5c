/** Logins and grants for tables of conditions: each row changes one thing of what is good otherwise. */
import { randomBytes, randomUUID } from 'node:crypto';
import { Database } from '../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../src/domain/audit/audit-event.ts';
import type { Application, Call } from '../../src/domain/core/call.ts';
import { sidOf } from '../../src/domain/sessions/sid.ts';
import { beginGrant } from '../../src/modules/oidc/domain/grants/begin-grant.ts';
import { OidcError } from '../../src/modules/oidc/domain/oidc-error.ts';
import { createCode } from '../../src/modules/oidc/domain/tokens/code.ts';
import { deriveTokenKeys } from '../../src/modules/oidc/domain/tokens/token-keys.ts';
import { LAYOUT } from './database.ts';
import { at, DAY, HOUR, type Meanwhile, NOW, runWith } from './domain-scene.ts';
import { createTenant, createTestUser, REDIRECT_URI, startTestService } from './service.ts';

export { at, DAY, HOUR, NOW };
export const [SECOND, MINUTE] = [1_000, 60_000];
export const SIGNED_IN = at(-2 * SECOND);
export const PEER = { ipAddress: '192.0.2.9', userAgent: 'a server' };
export const CLIENT = 'https://assistant.test/client.json';
/** The columns of a login that the client of a resource has begun, and of one that nobody has registered. */
export const ofClient = { client_id: CLIENT, scope_names: ['read'] };
export const ofDocument = { ...ofClient, client_name: 'Assistant' };

export interface GrantScene {
  readonly app: Application;
  readonly user: string;
  readonly intent: string;
  readonly browser: Buffer;
}

export interface CallOptions {
  readonly now?: Date;
  readonly forClient?: string | null;
  readonly client?: Application;
  readonly isPublic?: boolean;
  readonly notices?: Call['notices'];
  readonly onMessage?: Call['onMessage'];
  /** Gets the names of the statements. */
  readonly names?: string[];
  /** Runs after the statement of this name. */
  readonly meanwhile?: Meanwhile;
}

export type ConditionRow = [
  what: string,
  change: (scene: GrantScene) => PromiseLike<unknown> | undefined,
  isGood: boolean,
  options?: CallOptions,
  request?: object,
];

export async function outcomeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'ok';
  } catch (error) {
    if (error instanceof OidcError) return error.reason;
    throw error;
  }
}

export async function openGrantScenes() {
  const service = await startTestService();
  const database = new Database(service.database.url, { connections: 4, layout: LAYOUT, statementTimeoutMs: 60_000 });
  const { sql } = service.database;
  const keys = deriveTokenKeys(service.config.secrets.encryptionKeys ?? []);

  /** A call of the client. */
  function callOf(
    { app }: Pick<GrantScene, 'app'>,
    {
      now = NOW,
      forClient = null,
      client,
      isPublic = false,
      notices,
      onMessage,
      names,
      meanwhile = {},
    }: CallOptions = {},
  ) {
    const inner = withAudit(database.within(Number.POSITIVE_INFINITY), { ...BY_USHER, action: 'test', now });
    const run: Call['run'] = (statement, parameters) => {
      names?.push(statement.name);
      return inner(statement, parameters);
    };
    return {
      run: runWith(meanwhile, run),
      now,
      application: app,
      forClient,
      client,
      notices,
      onMessage,
      isPublic,
      peer: PEER,
    };
  }

  /** A completed login whose code is good. */
  async function createScene(app?: Application): Promise<GrantScene> {
    return createLogin(
      app ?? { ...(await createTenant(service, { openIdConnect: true })), redirectUris: [REDIRECT_URI] },
    );
  }

  async function createLogin(app: Application): Promise<GrantScene> {
    const { id: user } = await createTestUser(service);
    const [intent, browser] = [randomUUID(), randomBytes(32)];
    const row = {
      ...{
        application_id: app.id,
        id: intent,
        redirect_uri: REDIRECT_URI,
        state: '',
        response_mode: 'query',
        scope: 1,
      },
      ...{ created_at: at(-MINUTE), expires_at: at(HOUR), completed_at: at(-SECOND), authenticated_at: SIGNED_IN },
      ...{ user_id: user, method: 'email', assurance: 2, browser_digest: browser },
    };
    await sql`insert into login_intents ${sql(row)}`;
    return { app, user, intent, browser };
  }

  /** The same login again, of which nothing has begun. */
  async function repeat(scene: GrantScene): Promise<GrantScene> {
    const again = { ...scene, intent: randomUUID() };
    await sql`insert into login_intents select (jsonb_populate_record(i, jsonb_build_object('id', ${again.intent}::text, 'redeemed_at', null))).*
      from login_intents i where id = ${scene.intent}`;
    return again;
  }

  const setIntent = ({ intent }: GrantScene, columns: object) =>
    sql`update login_intents set ${sql(columns as never)} where id = ${intent}`;
  const setGrant = ({ intent }: GrantScene, columns: object) =>
    sql`update oidc_grants set ${sql(columns as never)} where id = ${intent}`;
  const setUser = ({ user }: GrantScene, columns: object) =>
    sql`update users set ${sql(columns as never)} where id = ${user}`;
  const setApplication = ({ app }: { readonly app: { readonly id: string } }, columns: object) =>
    sql`update applications set ${sql(columns as never)} where id = ${app.id}`;
  // On Citus a grant begins in two statements, and what happens after each happens twice.
  const cutOff = ({ app, user }: Pick<GrantScene, 'app' | 'user'>, instant: Date) =>
    sql`insert into session_cutoffs values (${app.id}, ${user}, ${instant}, ${at(DAY)}) on conflict do nothing`;
  const cutOffBrowser = ({ app, user, browser }: GrantScene, instant: Date) =>
    cutOff({ app, user: sidOf(app.id, user, browser) }, instant);
  const cutOffEverywhere = ({ user }: Pick<GrantScene, 'user'>, instant: Date) =>
    sql`insert into user_cutoffs values (${user}, ${instant}, ${at(DAY)})`;
  const consent = ({ app, user }: GrantScene, columns: object = {}) =>
    sql`insert into consents ${sql({
      ...{ application_id: app.id, user_id: user, client_id: CLIENT, client_name: 'Assistant', scope_names: ['read'] },
      ...{ created_at: at(-1), authenticated_at: SIGNED_IN },
      ...columns,
    })}`;
  const changes = { setIntent, setGrant, setUser, setApplication, cutOff, cutOffBrowser, cutOffEverywhere, consent };

  const grantOf = async ({ intent }: GrantScene) => {
    const [grant] = await sql`select * from oidc_grants where id = ${intent}`;
    return grant;
  };
  const requestOf = ({ intent, app }: GrantScene, { forClient = null }: CallOptions = {}) => ({
    code: createCode(keys.code, intent, forClient === null ? undefined : app.id),
    ...{ redirectUri: undefined, codeVerifier: undefined },
  });
  const beginWith = (subscribed: Set<string>, scene: GrantScene, options: CallOptions | undefined, request: object) =>
    beginGrant(
      callOf(scene, options),
      { codeKeys: keys.code, maxAgeSeconds: DAY / SECOND, subscribed },
      { ...requestOf(scene, options), ...request },
    );
  const begin = (scene: GrantScene, options?: CallOptions, request: object = {}) =>
    beginWith(new Set(), scene, options, request);
  /** The same in the statements of applications whose webhooks learn of the session. */
  const beginInSteps = (scene: GrantScene, options?: CallOptions, request: object = {}) =>
    beginWith(new Set([scene.app.id]), scene, options, request);

  const close = async () => {
    await database.close();
    await service.close();
  };
  return {
    ...changes,
    service,
    database,
    sql,
    keys,
    callOf,
    createScene,
    repeat,
    grantOf,
    requestOf,
    begin,
    beginInSteps,
    beginWith,
    close,
  };
}
