import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { clientsOf, createTenant, createTestUser, logIn } from './service.ts';

/** Makes one of every call that applications make, and throws if one of them fails. */
export async function runSmokeTest(service: { url: string }): Promise<void> {
  const tenant = await createTenant(service);
  const user = await createTestUser(service);
  const { auth, webhooks, events } = clientsOf(service, tenant);
  const authToken = await logIn(service, tenant, user);
  const first = await auth.exchangeToken({ authToken });
  expect(await auth.exchangeToken({ authToken })).toEqual(first);
  expect(first.user?.email).toBe(user.email);
  const fields = { url: 'https://app.test/hook', ownerId: user.id, eventTypes: ['*'] };
  const { webhook } = await webhooks.createWebhook(fields);
  expect((await webhooks.getWebhook({ webhookId: webhook?.webhookId ?? '' })).webhook).toEqual(webhook);
  const eventId = randomUUID();
  await events.createEvent({ eventId });
  expect((await events.checkIn({ eventId, attendeeId: 'ada' })).alreadyCheckedIn).toBe(false);
  await events.deleteEvent({ eventId });
  await expect(events.checkIn({ eventId, attendeeId: 'grace' })).rejects.toThrow('Event not found');
}
