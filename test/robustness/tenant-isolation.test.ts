/** What belongs to another application looks like what does not exist: byte for byte, and in the work of Postgres. */
import { randomBytes } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import { afterAll, describe, expect, test } from 'vitest';
import type { Operation } from '../../src/api/catalogue.ts';
import { openHttpClient } from '../support/http.ts';
import { OPERATIONS } from '../support/operations.ts';
import { comparable, mainProtocolOf, PROTOCOLS, send, supports, toRequest } from '../support/protocols.ts';
import { sampleFields } from '../support/samples.ts';
import { adminClient, clientsOf, createTenant, createTestUser, logIn, startTestService } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { readsOf, StatementExplainer } from '../support/statement-explainer.ts';
import { measureArea } from '../support/timing-comparison.ts';

/** A fixed time, so that timestamps in replies are the same. */
const NOW = new Date();
const service = await startTestService({ clock: () => NOW });
const tenant = await createTenant(service);
const other = await createTenant(service);
const former = await createTenant(service);
const tokenOfFormer = await logIn(service, former, await createTestUser(service));
await adminClient(service).deleteApplication({ applicationId: former.id });

afterAll(() => service.close());

/** Those that name something of an application's own. Users whose sessions end belong to no application. */
const operations = OPERATIONS.filter(
  ({ credential, method: { name } }) =>
    credential === 'apiKey' &&
    !/^(CreateEvent$|InviteUser$|List(Events|Revocations|Sessions|Users|Webhooks)$|RevokeUserSessions$)/.test(name),
).map((operation) => ({ ...operation, name: operation.method.name }));

const foreign = ({ method }: Operation) => sampleFields(method, { service, tenant: other });

/** Returns the fields with IDs of the same form that nothing has. */
async function missing(operation: Operation): Promise<JsonObject> {
  const fields = Object.entries(await foreign(operation)).map(([name, value]) => {
    if (name === 'authToken') return [name, tokenOfFormer];
    const other = (digits: string) => randomBytes(digits.length).toString('hex').slice(0, digits.length);
    return [name, typeof value === 'string' ? value.replaceAll(/[\da-f]{8,}/g, other) : value];
  });
  return Object.fromEntries(fields);
}

/** Returns the fields of what the application has deleted, where it can. */
async function deleted({ method }: Operation): Promise<JsonObject | undefined> {
  const fields = await sampleFields(method, { service, tenant });
  const { events, webhooks } = clientsOf(service, tenant);
  if (typeof fields.eventId === 'string') await events.deleteEvent({ eventId: fields.eventId });
  else if (typeof fields.webhookId === 'string') await webhooks.deleteWebhook({ webhookId: fields.webhookId });
  else return undefined;
  return fields;
}

/** Every call has the same request ID, so that it does not differ between replies. */
const callWith = ({ method }: Operation, fields: JsonObject) => ({
  method,
  fields,
  headers: { 'x-api-key': tenant.apiKey, 'x-request-id': 'the-same-for-all' },
});

describe.each(PROTOCOLS)('over $name', (protocol) => {
  /** Returns the reply with the names of fields in the place of their values. */
  async function ask(operation: Operation, fields: JsonObject): Promise<string> {
    const reply = comparable(await send(protocol, service.url, callWith(operation, fields)));
    const texts = Object.entries(fields).filter(([, value]) => typeof value === 'string' && value !== '');
    return texts.reduce((json, [name, text]) => json.replaceAll(String(text), name), JSON.stringify(reply));
  }

  // The short form has each operation over one protocol, and each protocol with some operations.
  const isIncluded = ({ method }: Operation, index: number) => {
    const able = PROTOCOLS.filter((each) => supports(each, method));
    return quickOrLong(able[index % able.length] === protocol, able.includes(protocol));
  };

  test.each(operations.filter(isIncluded))(
    '$name answers for what is of another application, or deleted, as for what does not exist',
    async (operation) => {
      const expected = await ask(operation, await missing(operation));
      expect(await ask(operation, await foreign(operation))).toBe(expected);
      const gone = await deleted(operation);
      if (gone) expect(await ask(operation, gone)).toBe(expected);
    },
  );
});

test.each(operations)('$name reads as many rows for what is of another application', async (operation) => {
  const readRows = async (fields: JsonObject) => {
    using explainer = new StatementExplainer(service.database);
    await send(mainProtocolOf(operation.method), service.url, callWith(operation, fields));
    const own = explainer.explained.filter(({ parameters }) => Object.values(parameters).includes(tenant.id));
    return own.map(({ name, plans }) => ({ name, reads: readsOf(plans.force_generic_plan) }));
  };
  // Both are made first: a plan may read whole tables, which are small.
  const [ofOther, ofNobody] = [await foreign(operation), await missing(operation)];
  const rows = await readRows(ofOther);
  expect(rows).toEqual(await readRows(ofNobody));
  if (!UNSEEN.includes(operation.name)) expect(rows).not.toEqual([]);
});

/** Refused before anything is looked up, or run in a transaction, whose statements the explainer does not see. */
const UNSEEN: readonly string[] = [
  'BatchCheckIn',
  'BatchPutAttendees',
  'DeleteAttendees',
  'ExchangeToken',
  'GenerateAuthUrl',
  'IntrospectToken',
];

const SAMPLES = 2_000;
/** More than five standard errors of an area of 0.5 (Mann-Whitney). One more query makes it about 0.9. */
const BAND = 0.05;
/** How many resources of each kind there are, so that no single row is always cached. */
const TARGETS = 40;

const timed = PROTOCOLS.filter(
  ({ kind, httpVersion }) => kind === 'grpc' || (kind === 'rest' && httpVersion === '1.1'),
);

describe.runIf(quickOrLong(false, true)).each(timed)('over $name', (protocol) => {
  test.for(operations.filter(({ method }) => supports(protocol, method)))(
    '$name takes as long for what is of another application',
    async (operation, context) => {
      using client = openHttpClient(service.url, protocol);
      const prepare = async (make: (operation: Operation) => Promise<JsonObject>) => {
        const requests: ReturnType<typeof toRequest>[] = [];
        while (requests.length < TARGETS)
          requests.push(toRequest(protocol, callWith(operation, await make(operation))));
        return async () => {
          const request = requests[Math.floor(Math.random() * TARGETS)] ?? { path: '/' };
          return () => client.send(request);
        };
      };
      const area = await measureArea([await prepare(missing), await prepare(foreign)], { count: SAMPLES, warmUp: 500 });
      const title = `${operation.name} over ${protocol.name}`;
      report(context, {
        tried: `${title}: ${SAMPLES} foreign and ${SAMPLES} missing`,
        figures: `AUC ${area.toFixed(3)}`,
      });
      expect(Math.abs(area - 0.5)).toBeLessThanOrEqual(BAND);
    },
  );
});
