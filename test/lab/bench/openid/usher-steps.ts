import type { KeyObject } from 'node:crypto';
import { addressAt, type Fixtures } from '../fixtures.ts';
import type { Step } from '../scenario.ts';
import { completeLogin, type Environment } from './complete-login.ts';
import { authorizationOf, createTokenSteps, parameterOf, registrationOf, requireUser } from './steps.ts';

/** A code flow of OpenID Connect at Usher, and what is done with its tokens. */
export function createUsherSteps(fixtures: Fixtures, environment: Environment, publicKey: KeyObject) {
  const registration = registrationOf(fixtures);
  const authorize: Step = {
    name: 'authorize',
    async run(client, { number = '' }) {
      const headers = { 'x-forwarded-for': addressAt(Number(number)) };
      const reply = await client.send({ path: `/oidc/authorize?${authorizationOf(registration)}`, headers }, 303);
      return { number, intent: parameterOf(reply.headers.location, 'intent') };
    },
  };
  const complete = completeLogin(environment, 'code');
  const userinfo: Step = {
    name: 'userinfo',
    async run(client, { number = '', accessToken }) {
      const reply = await client.send({
        path: '/oidc/userinfo',
        headers: { authorization: `Bearer ${accessToken}` },
      });
      requireUser(JSON.parse(reply.body).sub, number);
      return {};
    },
  };
  const { token, refresh } = createTokenSteps('/oidc/token', registration, publicKey);
  return { authorize, complete, token, refresh, userinfo };
}
