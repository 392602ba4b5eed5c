/** Every list, with what adds to it, for tests that go over all of them. */
import { randomUUID } from 'node:crypto';
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import { OPERATIONS, type Operation } from '../../src/api/catalogue.ts';
import type { SampleFixture } from './samples.ts';
import { beginSession, clientsOf, createTenant, createTestEvent, createTestUser, type Tenant } from './service.ts';

export interface List {
  /** The field of the response that holds the items. */
  readonly items: string;
  /** The field of an item that tells it from others. */
  readonly key: string;
  /** Returns fields that a request needs, and a function that adds an item and returns its key. */
  open(fixture: SampleFixture): OpenList | Promise<OpenList>;
}

interface OpenList {
  readonly fields: JsonObject;
  add(): Promise<string>;
}

const LISTS: Readonly<Record<string, List>> = {
  'AdminService/ListApplications': {
    items: 'applications',
    key: 'id',
    open: ({ service }) => ({ fields: {}, add: async () => (await createTenant(service)).id }),
  },
  'EventService/ListCheckIns': {
    items: 'checkIns',
    key: 'attendeeId',
    async open({ service, tenant }) {
      const eventId = await createTestEvent(service, tenant);
      const add = async () => {
        const attendeeId = randomUUID();
        await clientsOf(service, tenant).events.checkIn({ eventId, attendeeId });
        return attendeeId;
      };
      return { fields: { eventId }, add };
    },
  },
  'EventService/ListEvents': {
    items: 'events',
    key: 'eventId',
    open: ({ service, tenant }) => ({ fields: {}, add: () => createTestEvent(service, tenant, randomUUID()) }),
  },
  'SessionService/ListSessions': {
    items: 'sessions',
    key: 'userId',
    open: ({ service, tenant }) => ({ fields: {}, add: () => signIn(service, tenant) }),
  },
};

/** Returns the ID of a new user with a session. */
async function signIn(service: SampleFixture['service'], tenant: Tenant): Promise<string> {
  const user = await createTestUser(service);
  await beginSession(service, tenant, user);
  return user.id;
}

/** The operations that answer in pages. */
export const LIST_OPERATIONS: readonly Operation[] = OPERATIONS.filter(({ method }) => method.input.field.pageToken);

/** @throws where the operation has no row. */
export function listOf({ parent, name }: DescMethodUnary): List {
  const list = LISTS[`${parent.name}/${name}`];
  if (!list) throw new Error(`add a row for ${parent.name}/${name} to test/support/lists.ts`);
  return list;
}
