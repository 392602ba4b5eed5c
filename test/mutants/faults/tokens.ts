/** Codes and tokens of OpenID Connect that must be dead afterwards. */
import type { Fault } from '../fault.ts';

export const TOKENS_FAULTS: readonly Fault[] = [
  {
    what: 'A replaced refresh token is still introspected by this replica',
    find: 'rotateGrant(call, token).finally(() => parts.forgetUser(token.userId))',
    replace: 'rotateGrant(call, token)',
    test: 'test/integration/modules/oidc/public-clients.test.ts',
    title: /knows at once what another replica has issued, and what this one has replaced/,
  },
  {
    what: 'A browser whose grant has ended continues its sign-in',
    find: 'singleSignOn ? endOneAndForget : endOne',
    replace: 'singleSignOn ? endOne : endOne',
    test: 'test/integration/modules/oidc/pages/endings.test.ts',
    title: /after EndGrant the browser has no way back/,
  },
  {
    what: 'A person who has signed out lets a device in',
    find: '!(await isSignInLive(call, browser, signedIn))',
    replace: 'false',
    test: 'test/integration/modules/oidc/device.test.ts',
    title: /asks no more once the person has signed out/,
  },
  {
    what: 'Tokens outlive the permission of their resource to unregistered clients',
    find: 'then a.allow_metadata_clients',
    replace: 'then true',
    test: 'test/integration/modules/oidc/metadata-clients.test.ts',
    title: /tokens are dead once their resource lets no such client ask/,
  },
  {
    what: 'Tokens outlive the permission of their client’s host',
    find: 'grant.isAllowed && allowsClient(grant.clientId) &&',
    replace: 'grant.isAllowed &&',
    test: 'test/integration/modules/oidc/metadata-clients.test.ts',
    title: /tokens are dead once their host lets no such client ask/,
  },
];
