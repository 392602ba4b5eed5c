/** Every statement of the pages of OpenID Connect, for tests that go over all statements. */
import { randomUUID } from 'node:crypto';
import type { Call } from '../../src/domain/core/call.ts';
import { endGrantsOfBrowser } from '../../src/domain/grants/end-grants.ts';
import { OidcClients } from '../../src/modules/oidc/clients/oidc-clients.ts';
import {
  readAnswerTarget,
  readAuthorizationRequest,
} from '../../src/modules/oidc/domain/authorization/authorization-request.ts';
import { beginAuthorization, FOR_ITSELF } from '../../src/modules/oidc/domain/authorization/begin-authorization.ts';
import { Parameters } from '../../src/modules/oidc/domain/parameters.ts';
import { extendCode } from '../../src/modules/passkeys/domain/extend-code.ts';
import { newBrowser } from './new-browser.ts';
import { authorizationOf } from './oidc.ts';
import { REDIRECT_URI, type Tenant } from './service.ts';

/** The application must have OpenID Connect. */
export async function useAuthorization(call: Call, tenant: Tenant): Promise<void> {
  const client = await new OidcClients(call.run).find(tenant.clientId);
  if (!client) throw new Error('The application has no OpenID Connect');
  const parameters = new Parameters(authorizationOf(tenant).toString());
  const target = { ...readAnswerTarget(parameters), redirectUri: REDIRECT_URI };
  const wanted = readAuthorizationRequest(parameters, client);
  await beginAuthorization(call, client, target, { ...wanted, scope: 1, ...FOR_ITSELF });
  await extendCode(call, newBrowser(), randomUUID());
  await endGrantsOfBrowser(call, { applicationId: tenant.id, userId: randomUUID(), sid: randomUUID() });
}
