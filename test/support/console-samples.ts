/** What the console has pages for: one of each. */
import { randomUUID } from 'node:crypto';
import { ConsoleFixture } from './console-fixture.ts';
import { refuseSignIn } from './restricted-access.ts';
import { adminClient, beginSession, clientsOf, createTestUser, createTestWebhook } from './service.ts';

export interface ConsoleSamples {
  /** Stands in the paths of routes for `:a` and its like. */
  readonly params: Readonly<Record<'a' | 'k' | 'u' | 'g' | 'w' | 'm' | 'e', string>>;
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
  const params = { a: tenant.id, k: apiKeyId, u: user.id, g: groupId, w: webhookId, m: messageId, e: eventId };
  return { params, email: user.email, webhookUrl, keyName };
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
