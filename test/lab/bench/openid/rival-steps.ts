import type { KeyObject } from 'node:crypto';
import { type Fixtures, ISSUER, userAt } from '../fixtures.ts';
import type { Step } from '../scenario.ts';
import { authorizationOf, createTokenSteps, parameterOf, registrationOf } from './steps.ts';

/** A code flow at `oidc-provider`, whose login is a redirect there and back. */
export function createRivalSteps(fixtures: Fixtures, publicKey: KeyObject) {
  const registration = registrationOf(fixtures);
  const headers = { 'x-forwarded-proto': 'https', host: new URL(ISSUER).host };
  const logIn: Step = {
    name: 'login',
    async run(client, { number = '' }) {
      client.forgetCookies();
      const query = authorizationOf(registration);
      query.set('login_hint', userAt(Number(number)).id);
      let path = `/auth?${query}`;
      for (;;) {
        const { headers: sent } = await client.browse({ path, headers }, 303);
        const target = new URL(sent.location ?? '', ISSUER);
        if (target.href.startsWith(registration.redirectUri)) return { number, code: parameterOf(target.href, 'code') };
        path = target.pathname + target.search;
      }
    },
  };
  return { logIn, ...createTokenSteps('/token', registration, publicKey, headers) };
}
