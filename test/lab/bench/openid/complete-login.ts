import { userAt } from '../fixtures.ts';
import type { Step } from '../scenario.ts';
import { parameterOf } from './steps.ts';

/** The settings of the servers. */
export type Environment = Readonly<Record<string, string>>;

/** A page of one's own has signed the user in. */
export function completeLogin({ ADMIN_KEY = '' }: Environment, parameter: 'code' | 'authToken'): Step {
  const headers = { 'content-type': 'application/json', 'x-admin-key': ADMIN_KEY };
  return {
    name: parameter === 'code' ? 'CompleteLogin of OpenID' : 'CompleteLogin',
    async run(client, { number = '', intent: loginIntentId }) {
      const body = JSON.stringify({ loginIntentId, userId: userAt(Number(number)).id });
      const reply = await client.send({ path: '/usher.v1.AdminService/CompleteLogin', headers, body });
      return { number, [parameter]: parameterOf(JSON.parse(reply.body).redirectUrl, parameter) };
    },
  };
}
