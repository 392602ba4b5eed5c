/** What the console has pages for: one of each. */
import { randomUUID } from 'node:crypto';
import { ConsoleFixture } from './console-fixture.ts';
import { refuseSignIn } from './restricted-access.ts';
import { adminClient, beginSession, clientsOf, createTestUser, createTestWebhook } from './service.ts';

export interface ConsoleSamples {
  /** Stands in the paths of routes for `:a` and its like. */
  readonly params: Readonly<Record<'a' | 'k' | 'u' | 'p' | 'i' | 's' | 'g' | 'w' | 'm' | 'e', string>>;
  readonly email: string;
  readonly webhookUrl: string;
  readonly keyName: string;
}

/** Creates a user who has signed in and was refused, a webhook with a message, an event with a check-in, a second key, and a group with the user. */
export async function createConsoleSamples({ service, tenant }: ConsoleFixture): Promise<ConsoleSamples> {
  const user = await createTestUser(service, { name: 'Ada Lovelace' });
  await beginSession(service, tenant, user);
  await refuseSignIn(service, tenant, user);
  const admin = adminClient(service);
  const { group } = await admin.createGroup({ name: 'editors', displayName: 'Editors' });
  const groupId = group?.groupId ?? '';
  await admin.addGroupMember({ groupId, userId: user.id });
  await admin.setGroupAccess({ groupId, applicationId: tenant.id, allowsAccess: true, inClaim: true });
  const webhookUrl = 'https://hooks.test/usher?a=b';
  const { webhookId } = await createTestWebhook(service, tenant, { ownerId: user.id, url: webhookUrl });
  const { webhooks, events } = clientsOf(service, tenant);
  const { messageId } = await webhooks.sendTestMessage({ webhookId });
  const eventId = 'opening / night';
  await events.createEvent({ eventId, name: 'Opening night' });
  await events.checkIn({ eventId, attendeeId: 'attendee 1' });
  const attendees = [
    { attendeeId: 'attendee 1', label: 'Ada Lovelace' },
    { attendeeId: 'eve', isBlocked: true },
  ];
  await events.batchPutAttendees({ eventId, attendees });
  await events.batchCheckIn({ eventId, scans: [{ scanId: randomUUID(), attendeeId: 'eve', gate: 'North' }] });
  const keyName = 'deploy';
  const { apiKeyId } = await admin.createApiKey({ applicationId: tenant.id, name: keyName });
  const person = { u: user.id, ...(await createSampleWays(service, user.id)) };
  const params = { a: tenant.id, k: apiKeyId, ...person, g: groupId, w: webhookId, m: messageId, e: eventId };
  return { params, email: user.email, webhookUrl, keyName };
}

/** Gives a user a passkey and an account at a provider, and returns what stands for them in paths. */
export async function createSampleWays(
  { database: { sql } }: ConsoleFixture['service'],
  userId: string,
  { name, subject }: { readonly name: string; readonly subject: string } = {
    name: 'Apple Passwords',
    subject: 'ada / 7',
  },
) {
  const [passkeyId, issuer] = [randomUUID(), 'https://acme.test/a'];
  await sql`
    insert into passkeys (user_id, id, credential_id, rp_id, public_key, sign_count, transports, aaguid,
      is_backup_eligible, is_backed_up, is_user_verified, name, created_at)
    values (${userId}, ${passkeyId}, ${Buffer.from(passkeyId)}, 'login.test', '', 0, '{}',
      ${randomUUID()}, true, true, true, ${name}, now())`;
  await sql`
    insert into user_identities (issuer, subject, user_id, provider, created_at)
    values (${issuer}, ${subject}, ${userId}, 'acme', now())`;
  return { p: passkeyId, i: issuer, s: subject };
}

/** Opens a console that has the samples, and signs an operator in. */
export async function openSampledConsole(operator: string) {
  const fixture = await ConsoleFixture.open();
  const samples = await createConsoleSamples(fixture);
  return { fixture, samples, browser: await fixture.signIn(operator) };
}

/** Returns the path of a route with the samples in it. */
export function fillPath(path: string, params: ConsoleSamples['params']): string {
  return path.replace(/:(\w)/g, (_, name: keyof typeof params) => encodeURIComponent(params[name]));
}
