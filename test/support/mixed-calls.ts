/** All calls that applications make, over REST, Connect and gRPC on persistent connections, for `startLoad`. */
import { randomUUID } from 'node:crypto';
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import type postgres from 'postgres';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { openDatabase } from './database.ts';
import { HttpPool } from './http.ts';
import type { Answer } from './load.ts';
import { configLikeProcesses } from './process.ts';
import {
  createTenant,
  createTestEvent,
  createTestUser,
  createTestWebhook,
  logIn,
  REDIRECT_URI,
  startTestService,
  type Tenant,
  type TestUser,
} from './service.ts';

/** What the calls refer to. */
export interface Subjects {
  readonly tenant: Tenant;
  readonly user: TestUser;
  readonly webhookId: string;
  readonly authToken: string;
  /** An event that is never deleted. */
  readonly eventId: string;
}

export async function createSubjects(service: { url: string }): Promise<Subjects> {
  const tenant = await createTenant(service);
  const user = await createTestUser(service);
  const { webhookId } = await createTestWebhook(service, tenant, { ownerId: user.id });
  const eventId = await createTestEvent(service, tenant);
  return { tenant, user, webhookId, authToken: await logIn(service, tenant, user), eventId };
}

/** Creates them with a service of its own: on a busy machine a call may take longer than that of the test allows. */
export async function createSubjectsIn(databaseUrl: string): Promise<Subjects> {
  await using database = openDatabase(databaseUrl);
  await using service = await startTestService({ database, like: configLikeProcesses(databaseUrl) });
  return await createSubjects(service);
}

export const PROTOCOLS = ['REST', 'Connect', 'gRPC'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** Resolve to `ok`, to `unavailable` if the service says so as documented, or to a description of any other reply. */
export type Calls = Record<string, () => Promise<string>>;

/** Returns the answers that are neither a success nor a documented refusal. */
export function undocumented(answers: readonly Answer[]): Answer[] {
  return answers.filter(({ outcome }) => outcome !== 'ok' && outcome !== 'unavailable');
}

export class MixedCalls implements Disposable {
  readonly #service: { url: string };
  readonly #subjects: Subjects;
  readonly #pool: HttpPool;
  readonly #sessions: Http2SessionManager[] = [];
  /** Events that have been created and not been deleted. */
  readonly #events: string[] = [];
  /** The IDs of what RPCs have written according to their replies, by the query that must find them. */
  readonly #written = {
    'select id from events': new Set<string>(),
    'select id from events where deleted_at is not null': new Set<string>(),
    'select attendee_id as id from check_ins': new Set<string>(),
    'select id from webhooks': new Set<string>(),
    'select id from sessions': new Set<string>(),
  };

  constructor(service: { url: string }, subjects: Subjects, { connections = 32 } = {}) {
    this.#service = service;
    this.#subjects = subjects;
    this.#pool = new HttpPool(service, { 'x-api-key': subjects.tenant.apiKey }, { connections });
  }

  /** Returns the calls by name and protocol, as in `GetWebhook, gRPC`. */
  over(...protocols: readonly Protocol[]): Calls {
    const named = protocols.map((protocol) =>
      Object.entries(this.#by(protocol)).map(([name, call]) => [`${name}, ${protocol}`, call] as const),
    );
    return Object.fromEntries(named.flat());
  }

  /** Whether an RPC of each kind that writes has succeeded. */
  get hasWritten(): boolean {
    return Object.values(this.#written).every(({ size }) => size > 0);
  }

  /** Returns how many writes were acknowledged, and those that are not in the database. */
  async findLost(sql: postgres.Sql): Promise<{ writes: number; lost: string[] }> {
    const lost: string[] = [];
    for (const [query, ids] of Object.entries(this.#written)) {
      const found = new Set((await sql.unsafe(query)).map(({ id }) => id));
      lost.push(...[...ids].filter((id) => !found.has(id)).map((id) => `${query}: ${id}`));
    }
    return { writes: Object.values(this.#written).reduce((sum, { size }) => sum + size, 0), lost };
  }

  [Symbol.dispose](): void {
    this.#pool[Symbol.dispose]();
    for (const session of this.#sessions) session.abort();
  }

  #by(protocol: Protocol): Calls {
    if (protocol === 'REST') return this.#byRest();
    const { url: baseUrl } = this.#service;
    const sessionManager = new Http2SessionManager(baseUrl);
    this.#sessions.push(sessionManager);
    const options = { baseUrl, sessionManager };
    return this.#byRpc(
      protocol === 'gRPC' ? createGrpcTransport(options) : createConnectTransport({ ...options, httpVersion: '2' }),
    );
  }

  #byRest(): Calls {
    const { tenant, webhookId, authToken } = this.#subjects;
    const call = async (method: string, path: string, body?: unknown, expected = 200) => {
      const reply = await this.#pool.exchange<{ message: string }>(method, path, body);
      if (reply.status === expected) return 'ok';
      const isAsDocumented =
        reply.headers['retry-after'] === '1' &&
        JSON.stringify(reply.body) ===
          '{"status":false,"message":"Service unavailable","reason":"SERVICE_UNAVAILABLE"}';
      return reply.status === 503 && isAsDocumented ? 'unavailable' : `${reply.status} ${JSON.stringify(reply.body)}`;
    };
    const login = { redirectUri: REDIRECT_URI, state: 'state' };
    return {
      GenerateAuthUrl: () => call('POST', `/api/oauth/generate-auth-url?clientId=${tenant.clientId}`, login),
      ExchangeToken: () => call('POST', '/api/oauth/exchange', { authToken }),
      GetWebhook: () => call('GET', `/api/webhooks/${webhookId}`),
      DeleteEvent: () => {
        const eventId = this.#events.pop();
        return call('DELETE', `/api/events/${eventId ?? randomUUID()}`, undefined, eventId ? 200 : 404);
      },
    };
  }

  #byRpc(transport: Transport): Calls {
    const { tenant, user, webhookId, authToken, eventId } = this.#subjects;
    const written = this.#written;
    const headers = { 'x-api-key': tenant.apiKey };
    const auth = createClient(AuthService, transport);
    const webhooks = createClient(WebhookService, transport);
    const events = createClient(EventService, transport);
    const login = { clientId: tenant.clientId, redirectUri: REDIRECT_URI, state: 'state' };
    const webhook = { url: 'https://example.com', ownerId: user.id, eventTypes: ['webhook.test'] };
    return {
      GenerateAuthUrl: () => outcomeOf(auth.generateAuthUrl(login, { headers })),
      // Finds the same session every time, since one that lives is not replaced.
      ExchangeToken: () =>
        outcomeOf(
          auth
            .exchangeToken({ authToken }, { headers })
            .then(({ session }) => written['select id from sessions'].add(session?.id ?? '')),
        ),
      GetWebhook: () => outcomeOf(webhooks.getWebhook({ webhookId }, { headers })),
      CreateWebhook: () =>
        outcomeOf(
          webhooks
            .createWebhook(webhook, { headers })
            .then((reply) => written['select id from webhooks'].add(reply.webhook?.webhookId ?? '')),
        ),
      CreateEvent: async () => {
        const created = randomUUID();
        const outcome = await outcomeOf(events.createEvent({ eventId: created }, { headers }));
        if (outcome === 'ok') {
          this.#events.push(created);
          written['select id from events'].add(created);
        }
        return outcome;
      },
      CheckIn: async () => {
        const attendeeId = randomUUID();
        const outcome = await outcomeOf(events.checkIn({ eventId, attendeeId }, { headers }));
        if (outcome === 'ok') written['select attendee_id as id from check_ins'].add(attendeeId);
        return outcome;
      },
      DeleteEvent: async () => {
        const known = this.#events.pop();
        const outcome = await outcomeOf(events.deleteEvent({ eventId: known ?? randomUUID() }, { headers }));
        if (known && outcome === 'ok') written['select id from events where deleted_at is not null'].add(known);
        return !known && outcome === 'not found' ? 'ok' : outcome;
      },
    };
  }
}

async function outcomeOf(response: Promise<unknown>): Promise<string> {
  try {
    await response;
    return 'ok';
  } catch (error) {
    const { code, rawMessage, metadata } = ConnectError.from(error);
    if (code === Code.NotFound) return 'not found';
    const isAsDocumented = rawMessage === 'Service unavailable' && metadata.get('retry-after') === '1';
    return code === Code.Unavailable && isAsDocumented ? 'unavailable' : `${Code[code]} ${rawMessage}`;
  }
}
