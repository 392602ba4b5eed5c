import type { Fault } from '../fault.ts';

const machines = 'test/modules/oidc/machines.test.ts';
const typed = 'test/modules/oidc/introspect-token.test.ts';

/** Tokens without a user, and IntrospectToken. */
export const MACHINE_FAULTS: readonly Fault[] = [
  {
    what: 'A client without a secret gets a token of its own',
    file: 'src/modules/oidc/domain/issue-machine-token.ts',
    find: 'if (apiKeyId === null)',
    replace: "if (apiKeyId === '')",
    test: machines,
    title: /gets nothing without a secret/,
  },
  {
    what: 'A client gets scopes that it did not ask for',
    file: 'src/modules/oidc/domain/narrow-scope.ts',
    find: '  return names;\n',
    replace: '  return known;\n',
    test: machines,
    title: /gets a token for 15 minutes, with scopes of the resource/,
  },
  {
    what: 'Any application learns of the token of a machine',
    file: 'src/modules/oidc/domain/introspect-machine-token.ts',
    find: 'if (resourceId !== application.id || expiresAt <= now)',
    replace: "if (application.id === '' || expiresAt <= now)",
    test: machines,
    title: /is known to the resource alone/,
  },
  {
    what: 'The token of a machine is never over',
    file: 'src/modules/oidc/domain/introspect-machine-token.ts',
    find: 'if (resourceId !== application.id || expiresAt <= now)',
    replace: 'if (resourceId !== application.id)',
    test: machines,
    title: /is over after 15 minutes/,
  },
  {
    what: 'The token of a machine outlives its key',
    file: 'src/modules/oidc/domain/machine-keys.ts',
    find: 'and k.revoked_at is null and',
    replace: 'and',
    test: machines,
    title: /is dead with its key/,
  },
  {
    what: 'The token of a machine outlives the list of its resource',
    file: 'src/modules/oidc/domain/machine-keys.ts',
    find: ' and c.client_id = any(r.machine_client_ids)',
    replace: '',
    test: machines,
    title: /is dead once the resource no longer lists the client/,
  },
  {
    what: 'A token that was introspected once stays active',
    file: 'src/modules/oidc/domain/find-token.ts',
    find: 'session.expiresAt <= now ||',
    replace: '',
    test: typed,
    title: /is not active once its session is over/,
  },
  {
    what: 'IntrospectToken tells applications of the tokens of others',
    file: 'src/modules/oidc/endpoints/token-status-endpoints.ts',
    find: 'if ((accessToken ?? refreshToken)?.applicationId !== application.id) return { active: false };',
    replace: '',
    test: typed,
    title: /is not active at another application/,
  },
];
