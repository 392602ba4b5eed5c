import { type Fixtures, userAt } from '../fixtures.ts';
import type { Step } from '../scenario.ts';
import { completeLogin, type Environment } from './complete-login.ts';

/** The documented calls that do the same. */
export function createDocumentedSteps(
  { apiKey, application: { clientId, redirectUris } }: Fixtures,
  environment: Environment,
) {
  const headers = { 'content-type': 'application/json', 'x-api-key': apiKey };
  const generate: Step = {
    name: 'GenerateAuthUrl',
    async run(client, { number = '' }) {
      const body = JSON.stringify({ redirectUri: redirectUris[1], state: `state-of-a-request-${number}` });
      const reply = await client.send({ path: `/api/oauth/generate-auth-url?clientId=${clientId}`, headers, body });
      return { number, intent: JSON.parse(reply.body).data.loginIntentId };
    },
  };
  const exchange: Step = {
    name: 'ExchangeToken',
    async run(client, { authToken, number = '' }) {
      const reply = await client.send({ path: '/api/oauth/exchange', headers, body: JSON.stringify({ authToken }) });
      const { session, user } = JSON.parse(reply.body).data;
      if (user.email !== userAt(Number(number)).email) throw new Error(`The session is of ${user.email}`);
      return { sessionId: session.id };
    },
  };
  const check: Step = {
    name: 'CheckSession',
    async run(client, { sessionId }) {
      const reply = await client.send({ path: '/api/sessions/check', headers, body: JSON.stringify({ sessionId }) });
      if (!JSON.parse(reply.body).data.active) throw new Error('The session has ended');
      return {};
    },
  };
  return { generate, complete: completeLogin(environment, 'authToken'), exchange, check };
}
