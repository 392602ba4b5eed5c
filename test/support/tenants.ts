/** Applications side by side on one service, with resources that are their own, another's, deleted or unknown. */
import { randomBytes, randomUUID } from 'node:crypto';
import { AuthTokens } from '../../src/domain/login/auth-tokens.ts';
import {
  adminClient,
  clientsOf,
  createDeletedUser,
  createTenant,
  createTestEvent,
  createTestUser,
  logIn,
  logInDeletedUser,
  PUBLIC_URL,
  REDIRECT_URI,
  type Tenant,
  type TestService,
} from './service.ts';

export const OTHER_REDIRECT_URI = 'https://other.test/callback';

export class Tenants {
  readonly #service: TestService;
  readonly #now: Date;
  readonly tenant: Tenant;
  /** Has registered `OTHER_REDIRECT_URI`, too. */
  readonly other: Tenant;
  readonly deletedTenant: Tenant;

  private constructor(service: TestService, now: Date, [tenant, other, deletedTenant]: [Tenant, Tenant, Tenant]) {
    this.#service = service;
    this.#now = now;
    this.tenant = tenant;
    this.other = other;
    this.deletedTenant = deletedTenant;
  }

  static async create(service: TestService, now = new Date()): Promise<Tenants> {
    const tenant = await createTenant(service);
    const other = await createTenant(service, { redirectUris: [REDIRECT_URI, OTHER_REDIRECT_URI] });
    const deletedTenant = await createTenant(service);
    await adminClient(service).deleteApplication({ applicationId: deletedTenant.id });
    return new Tenants(service, now, [tenant, other, deletedTenant]);
  }

  async webhookOf(owner: Tenant): Promise<string> {
    const { id: ownerId } = await createTestUser(this.#service);
    const { webhooks } = clientsOf(this.#service, owner);
    const { webhook } = await webhooks.createWebhook({ url: 'https://hooks.test', ownerId });
    return webhook?.webhookId ?? '';
  }

  /** Deletes the row, since there is no RPC for it. */
  async deletedWebhook(): Promise<string> {
    const id = await this.webhookOf(this.tenant);
    await this.#service.database.sql`delete from webhooks where id = ${id}`;
    return id;
  }

  async eventOf(owner: Tenant): Promise<string> {
    return createTestEvent(this.#service, owner);
  }

  async deletedEvent(): Promise<string> {
    const eventId = await this.eventOf(this.tenant);
    await clientsOf(this.#service, this.tenant).events.deleteEvent({ eventId });
    return eventId;
  }

  async deletedUser(): Promise<string> {
    return createDeletedUser(this.#service);
  }

  async tokenOf(owner: Tenant): Promise<string> {
    return logIn(this.#service, owner, await createTestUser(this.#service));
  }

  async tokenOfDeletedUser(): Promise<string> {
    return logInDeletedUser(this.#service, this.tenant);
  }

  /** Returns a valid token for any client ID, known or not. */
  async tokenFor(clientId: string): Promise<string> {
    const tokens = await AuthTokens.create(PUBLIC_URL, this.#service.config.secrets.authSigningKeys ?? []);
    return tokens.mint({ userId: randomUUID(), loginIntentId: randomUUID(), clientId }, this.#now);
  }
}

export function unknownWebhookId(): string {
  return `wh_${randomBytes(16).toString('hex')}`;
}
