/** Which route a request of the console finds, who may use it, and which forms are read. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, test } from 'vitest';
import { RouteTable } from '../../../src/http/route-table.ts';
import { readConsoleForm } from '../../../src/modules/console/read-console-form.ts';
import { type ConsoleRoute, findRoute, get, mayUse } from '../../../src/modules/console/route.ts';
import type { SignedInOperator } from '../../../src/modules/console/signed-in-operator.ts';
import { request } from '../../support/http.ts';

const run = async () => 'sent' as const;
const table = new RouteTable([get('viewer', '/users/:u', run), get('viewer', '/applications/:a/webhooks/:w', run)]);

test.each([
  ['/users/ada%20l', { u: 'ada l' }],
  ['/applications/a/webhooks/w', { a: 'a', w: 'w' }],
  ['/users/', undefined],
  ['/applications//webhooks/w', undefined],
  ['/applications/a/webhooks/', undefined],
  ['/users/%ff', undefined],
  ['/nothing', undefined],
])('%s has the parameters %o', (path, params) => {
  expect(findRoute(table, 'GET', path)?.params).toEqual(params);
});

test('a page is found by its method alone', () => {
  expect(findRoute(table, 'POST', '/users/ada')).toBeUndefined();
});

type Role = SignedInOperator['role'];
type Demands = Partial<ConsoleRoute>;

const OWN = '018f2c7e-5a31-7c1e-9a57-2f8b1d3c4e60';

test.each<[Role, ConsoleRoute['role'], Demands, params: Record<string, string>, boolean]>([
  ['viewer', 'anyone', {}, {}, true],
  ['team', 'anyone', {}, {}, true],
  ['viewer', 'viewer', {}, {}, true],
  ['viewer', 'support', {}, {}, false],
  ['support', 'support', {}, {}, true],
  ['support', 'admin', {}, {}, false],
  ['admin', 'admin', {}, {}, true],
  ['support', 'viewer', { needsRecover: true }, {}, false],
  ['admin', 'viewer', { needsRecover: true }, {}, true],
  ['team', 'support', {}, { a: OWN }, true],
  ['team', 'support', {}, { a: OWN.toUpperCase() }, true],
  ['team', 'support', {}, { a: OWN.replace('0', '1') }, false],
  ['team', 'viewer', {}, {}, false],
  ['team', 'viewer', { isForTeams: true }, {}, true],
  ['team', 'admin', {}, { a: OWN }, false],
])('the role %s may use a route of %s with %o at %o: %s', (role, needed, demands, params, isAllowed) => {
  const operator = { role, applicationIds: [OWN], mayRecover: role === 'admin' } as unknown as SignedInOperator;
  const route = { ...get(needed, '/x', run), ...demands };
  expect(mayUse({ route, params }, operator)).toBe(isAllowed);
});

/** Returns what the console has read of a form, or why it was refused. */
async function read(
  demands: Demands,
  send: (url: string) => Promise<unknown>,
  deadline = performance.now() + 60_000,
): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const server = createServer((incoming: IncomingMessage, response) => {
    const route = { ...get('admin', '/x', run), ...demands };
    readConsoleForm({ request: incoming } as never, { deadline } as never, route)
      .then(
        async ({ form, upload }) =>
          resolve(upload ? `file ${(await upload.text()).length}` : `form ${form.toString().length}`),
        (error) => resolve(error.reason),
      )
      .finally(() => response.end());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sent = send(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const result = await promise;
  server.closeAllConnections();
  await sent.catch(() => {});
  server.close();
  return result;
}

const post = (body: string | undefined, type?: string) => (url: string) =>
  request(url, { method: 'POST', path: '/x', headers: { ...(type && { 'content-type': type }) }, body });
const FORM = 'application/x-www-form-urlencoded';
const FILE = 'multipart/form-data; boundary=x';
const LARGE = 262_144;

test.each<[string, Demands, type: string | undefined, length: number, result: string]>([
  ['a form', {}, FORM, 16_384, 'form 16384'],
  ['a longer form', {}, FORM, 16_385, 'PAYLOAD_TOO_LARGE'],
  ['a list', { takesList: true }, FORM, 65_536, 'form 65536'],
  ['a longer list', { takesList: true }, FORM, 65_537, 'PAYLOAD_TOO_LARGE'],
  ['the form with a file of people', { takesList: true, takesFile: true }, FORM, LARGE, `form ${LARGE}`],
  ['a longer one', { takesList: true, takesFile: true }, FORM, LARGE + 1, 'PAYLOAD_TOO_LARGE'],
  ['the form of a logo without one', { takesFile: true }, FORM, 16_385, 'PAYLOAD_TOO_LARGE'],
  ['a file of people', { takesList: true, takesFile: true }, FILE, LARGE, `file ${LARGE}`],
  // The page of the form says so.
  ['a larger one', { takesList: true, takesFile: true }, FILE, LARGE + 1, 'file 0'],
  ['a logo', { takesFile: true }, FILE, 20_000, 'file 20000'],
  ['a larger logo', { takesFile: true }, FILE, LARGE, 'file 0'],
  ['a file to a form that takes none', {}, FILE, 100, 'UNSUPPORTED_MEDIA_TYPE'],
  ['nothing, as the script renews the session', {}, undefined, 0, 'form 0'],
  ['nothing, of another type', {}, 'application/json', 0, 'UNSUPPORTED_MEDIA_TYPE'],
  ['anything without a type', {}, undefined, 2, 'UNSUPPORTED_MEDIA_TYPE'],
])('%s with %o is read or refused', async (_, demands, type, length, result) => {
  expect(await read(demands, post(length === 0 ? undefined : 'a='.padEnd(length, 'x'), type))).toBe(result);
});

test('a file that does not arrive in time is refused, and does not count as too large', async () => {
  const stall = async (url: string) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write(`POST /x HTTP/1.1\r\nhost: x\r\ncontent-type: ${FILE}\r\ncontent-length: 100\r\n\r\nhalf`);
    await once(socket, 'close');
  };
  expect(await read({ takesFile: true }, stall, 0)).toBe('REQUEST_TIMEOUT');
});
