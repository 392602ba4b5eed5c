/** How many calls are let in, and what makes them fewer. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { AuthService } from '../../../gen/usher/v1/auth_pb.ts';
import { Admission } from '../../../src/api/admission.ts';
import type { RpcCall } from '../../../src/api/call.ts';
import type { Procedure } from '../../../src/api/procedures.ts';

/** Of these a call should take 300 ms at most. */
const REQUEST_TIMEOUT_MS = 2_000;
const TOO_LONG_MS = 800;
const MOST = 1_000;
const LEAST = 32;

test('a thousand calls are let in at a time, and one more is refused, whether at its gate or after it', async () => {
  const { procedure, release } = createProcedure();
  const calls = makeCalls(procedure, MOST);

  await expect(makeCall(procedure)).rejects.toThrow('Service unavailable');
  await expect(async () => procedure.gate(createCall(), procedure.method)).rejects.toThrow('Service unavailable');
  release();
  await Promise.all(calls);
  await expect(makeCall(procedure)).resolves.toEqual({});
});

test('fewer are let in once they take too long, and more again once they do not', async () => {
  const { procedure, release, hold } = createProcedure();
  const slow = makeCalls(procedure, 2 * LEAST);
  await sleep(TOO_LONG_MS);
  release();
  await Promise.all(slow);

  hold();
  const few = makeCalls(procedure, LEAST);
  await expect(makeCall(procedure)).rejects.toThrow('Service unavailable');
  release();
  await Promise.all(few);

  hold();
  const more = makeCalls(procedure, LEAST + 1);
  release();
  await Promise.all(more);
});

test('calls that fail, however long they take, do not make it fewer', async () => {
  const { procedure, release, hold } = createProcedure();
  const failing = makeCalls(procedure, 2 * LEAST);
  await sleep(TOO_LONG_MS);
  release(new Error('Waited for a lock'));
  expect((await Promise.allSettled(failing)).map(({ status }) => status)).not.toContain('fulfilled');

  hold();
  const others = makeCalls(procedure, MOST);
  release();
  await Promise.all(others);
});

/** One that is answered when it is released. */
function createProcedure() {
  let released = Promise.withResolvers<void>();
  const procedure = new Admission(REQUEST_TIMEOUT_MS).limit({
    method: AuthService.method.generateAuthUrl,
    gate: () => {},
    handler: async () => {
      await released.promise;
      return {};
    },
  });
  return {
    procedure,
    hold: () => {
      released = Promise.withResolvers<void>();
    },
    release: (error?: Error) => (error ? released.reject(error) : released.resolve()),
  };
}

function makeCalls(procedure: Procedure, count: number): Promise<unknown>[] {
  return Array.from({ length: count }, () => makeCall(procedure));
}

async function makeCall({ handler }: Procedure): Promise<unknown> {
  return handler({}, createCall());
}

/** Of a call, admission wants to know nothing. */
function createCall(): RpcCall {
  return {} as RpcCall;
}
