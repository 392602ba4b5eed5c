/** What IntrospectToken costs beside CheckSession, over gRPC: the services behind an application ask for every request. */
import { afterAll, expect, test } from 'vitest';
import { SessionService } from '../../gen/usher/v1/session_pb.ts';
import { TokenService } from '../../gen/usher/v1/token_pb.ts';
import { Meter } from '../lab/bench/meter.ts';
import { medianOf } from '../lab/bench/statistics.ts';
import { cloneDatabase } from '../support/database.ts';
import { beginDevice, poll } from '../support/device-client.ts';
import { openHttpClient } from '../support/http.ts';
import { createRsaJwk } from '../support/oidc.ts';
import { optionsFor, UsherProcess } from '../support/process.ts';
import { answerOf, protocolNamed, toRequest } from '../support/protocols.ts';
import { adminClient, beginSession, createTenant, createTestUser } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const REQUESTS = 3_000;
const ROUNDS = 15;
/** The figure that the design demands. */
const MAX_RATIO = 1.1;
const CONCURRENCY = 8;

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

test.runIf(quickOrLong(false, true))(
  'IntrospectToken costs at most 1.1 times what CheckSession costs',
  async (context) => {
    const database = stack.use(await cloneDatabase());
    const { files = {}, env } = optionsFor(database.url, { OIDC_SIGNING_KEYS_FILE: 'oidc.json' });
    const oidc = JSON.stringify({ keys: [createRsaJwk()] });
    const usher = stack.use(await UsherProcess.start({ files: { ...files, 'oidc.json': oidc }, env, keepsLog: false }));
    const tenant = await createTenant(usher, { openIdConnect: true, deviceLogin: true });
    const user = await createTestUser(usher);
    const sessionId = await beginSession(usher, tenant, user);
    const device = await beginDevice(usher, tenant);
    const [login] = await database.sql`select id from usher.login_intents where response_mode = 'device'`;
    await adminClient(usher).completeLogin({ loginIntentId: login?.id, userId: user.id });
    await database.sql`update usher.login_intents set approved = true where id = ${login?.id}`;
    const { body: tokens } = await poll(usher, tenant, device);

    const protocol = protocolNamed('gRPC over HTTP/2');
    const headers = { 'x-api-key': tenant.apiKey };
    const calls = {
      check: { method: SessionService.method.checkSession, fields: { sessionId }, headers },
      introspect: {
        method: TokenService.method.introspectToken,
        fields: { token: tokens.access_token ?? '' },
        headers,
      },
    };
    const server = { name: 'usher', pid: usher.pid, ports: { '1.1': usher.port, '2': usher.port } } as const;
    const meter = new Meter(stack, server, { databaseUrl: database.url, concurrency: CONCURRENCY });
    const client = stack.use(openHttpClient(usher.url, { httpVersion: '2' }));
    const measure = async (name: keyof typeof calls) => {
      const { serverMicros, postgresMicros } = await meter.measure(REQUESTS, async () => {
        const answer = answerOf(protocol, calls[name].method, await client.send(toRequest(protocol, calls[name])));
        expect(answer).toMatchObject({ code: 'ok', data: { active: true } });
      });
      return serverMicros + postgresMicros;
    };
    const ratios: number[] = [];
    const micros = { check: [] as number[], introspect: [] as number[] };
    for (let round = 0; round <= ROUNDS; round++) {
      const names = round % 2 ? (['check', 'introspect'] as const) : (['introspect', 'check'] as const);
      const costs = { check: 0, introspect: 0 };
      for (const name of names) costs[name] = await measure(name);
      // The first round compiles.
      if (round === 0) continue;
      ratios.push(costs.introspect / costs.check);
      for (const name of names) micros[name].push(costs[name]);
    }
    const ratio = medianOf(ratios);
    const figures = `${medianOf(micros.introspect).toFixed(0)} us, CheckSession ${medianOf(micros.check).toFixed(0)} us: ${ratio.toFixed(2)}x`;
    report(context, { tried: `${ROUNDS} rounds of ${REQUESTS} calls of IntrospectToken over gRPC`, figures });
    expect(ratio, figures).toBeLessThan(MAX_RATIO);
  },
);
