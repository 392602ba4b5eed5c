/** The search box: recognizes an ID or address by its format, and redirects to its page. */
import { listAuditEvents } from '../../../domain/audit/list-audit-events.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { UUID } from '../../../domain/core/validation.ts';
import { getEvent } from '../../../domain/events/get-event.ts';
import { getGroup } from '../../../domain/groups/get-group.ts';
import { findApplicationOfClient } from '../../../domain/login/find-login-application.ts';
import { getUser } from '../../../domain/users/get-user.ts';
import { listUsers } from '../../../domain/users/list-users.ts';
import { html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { type ConsoleRequest, findApplication } from '../console-request.ts';
import type { Reply } from '../route.ts';

export async function search(request: ConsoleRequest): Promise<Reply> {
  // Removes the quotes and commas around a value that was copied from the log.
  const text = (request.query.get('q') ?? '').replace(/^[\s"',]+|[\s"',]+$/g, '');
  const path = await findPath(request, text);
  return path === undefined ? showNothing(text) : { redirect: path };
}

async function findPath(request: ConsoleRequest, text: string): Promise<string | undefined> {
  if (UUID.test(text)) return findById(request, text.toLowerCase());
  if (/^wh_[0-9a-f]{32}$/i.test(text)) return findWebhook(request, text.toLowerCase());
  if (/^client_[0-9a-f]{32}$/.test(text)) return findClient(request, text);
  if (/^msg_\d+$/.test(text)) return undefined;
  if (/^0x/i.test(text)) return `/users?${new URLSearchParams({ wallet: text })}`;
  if (text.includes('@')) return findByAddress(request, text);
  const event = await findEvent(request, text);
  if (event) return event;
  // The audit log has the IDs of deleted events and the names of admin keys.
  const events = await findEvents(request, text);
  if (events) return events;
  return /^[^\s/\p{Cc}]{1,254}$/u.test(text) ? `/users?${new URLSearchParams({ prefix: text })}` : undefined;
}

async function findById(request: ConsoleRequest, id: string): Promise<string | undefined> {
  const { call } = request;
  if (await exists(() => getUser(call, { userId: id }))) return `/users/${id}`;
  if (await exists(() => findApplication(call, id))) return `/applications/${id}`;
  if (await exists(() => getGroup(call, { groupId: id }))) return `/groups/${id}`;
  // An API key or a deleted user has no page, but the audit log has its events.
  return findEvents(request, id);
}

async function findClient({ call }: ConsoleRequest, clientId: string): Promise<string | undefined> {
  const application = await findApplicationOfClient(call, clientId);
  return application && `/applications/${application.applicationId}`;
}

async function findByAddress({ call, parts }: ConsoleRequest, email: string): Promise<string> {
  const { rows } = await listUsers(call, parts.pageTokens, { email, pageSize: 2 });
  const [user] = rows;
  return user ? `/users/${user.id}` : `/users?${new URLSearchParams({ prefix: email })}`;
}

/** Finds the application of a webhook in the audit log, since no index finds a webhook by its ID alone. */
async function findWebhook({ call, parts }: ConsoleRequest, webhookId: string): Promise<string | undefined> {
  const { rows } = await listAuditEvents(call, parts.pageTokens, { resource: webhookId, pageSize: 1 });
  const [event] = rows;
  return event && `/applications/${event.applicationId}/webhooks/${webhookId}`;
}

/** Finds the application of an event in the audit log, as for webhooks. */
async function findEvent({ call, parts }: ConsoleRequest, eventId: string): Promise<string | undefined> {
  const page = await readIfThere(() => listAuditEvents(call, parts.pageTokens, { resource: eventId, pageSize: 1 }));
  const [latest] = page?.rows ?? [];
  if (!latest) return undefined;
  const application = await readIfThere(() => findApplication(call, latest.applicationId));
  const event = application && (await readIfThere(() => getEvent({ ...call, application }, { eventId })));
  return event && `/applications/${latest.applicationId}/events/${encodeURIComponent(eventId)}`;
}

/** Returns the page of the audit log with the events on a resource, or else of an actor, that the text names. */
async function findEvents(request: ConsoleRequest, text: string): Promise<string | undefined> {
  for (const filter of ['resource', 'actor']) {
    const found = { [filter]: text };
    if (await exists(() => requireEvent(request, found))) return `/audit?${new URLSearchParams(found)}`;
  }
  return undefined;
}

async function requireEvent({ call, parts }: ConsoleRequest, filter: Record<string, string>): Promise<void> {
  const { rows } = await listAuditEvents(call, parts.pageTokens, { ...filter, pageSize: 1 });
  if (rows.length === 0) throw new ServiceError('USER_NOT_FOUND');
}

async function exists(find: () => Promise<unknown>): Promise<boolean> {
  return (await readIfThere(async () => [await find()])) !== undefined;
}

async function readIfThere<T>(find: () => Promise<T>): Promise<T | undefined> {
  try {
    return await find();
  } catch (error) {
    const { code } = Object(error) as Partial<ServiceError>;
    if (['not_found', 'invalid_argument'].includes(String(code))) return undefined;
    throw error;
  }
}

function showNothing(text: string): Reply {
  return {
    title: 'Nothing found',
    status: 404,
    body: html`<h1>Nothing found</h1>
<p class="soft">Nothing has the address or ID ${isolate(text)}. Type the whole ID, or at least the beginning of an e-mail address. To find a message, open its webhook: the log has the ID of the webhook beside that of the message. To find a request, search the log of calls, or a download of the <a href="/audit">audit log</a>.</p>`,
  };
}
