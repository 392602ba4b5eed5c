import { type Fault, uncapitalize } from '../fault.ts';

const apiKeys = 'test/contract/api-keys.test.ts';
const revocations = 'test/contract/revocations.test.ts';
const HANDLERS = 'src/api/handlers/admin-handlers.ts';

/** API keys and admin keys. */
export const KEY_FAULTS: readonly Fault[] = [
  {
    what: 'A later use of an API key is overwritten by an earlier one',
    file: 'src/domain/api-keys/api-keys.ts',
    find: ' and (k.last_used_at is null or k.last_used_at < used.at)',
    replace: '',
    test: apiKeys,
    title: /shows the latest use, also if a process stores an earlier one after it/,
  },
  {
    what: 'CreateApiKey takes an expiry that has passed',
    file: 'src/domain/api-keys/create-api-key.ts',
    find: "if (instant <= now) throw new Unacceptable('must be in the future');",
    replace: '',
    test: apiKeys,
    title: /An API key with a name and an expiry is refused with/,
  },
  ...['DeleteApplication', 'RevokeApiKey'].map((name) => ({
    what: `${name} is not seen at once by the process that has run it`,
    file: HANDLERS,
    find: `await ${uncapitalize(name)}(call, fields);\n      apiKeys.forgetAll();`,
    replace: `await ${uncapitalize(name)}(call, fields);`,
    test: revocations,
    title: new RegExp(`After ${name} the API key is refused`),
  })),
  {
    what: 'RotateApiKey with an overlap of 0 is not seen at once by the process that has run it',
    file: HANDLERS,
    find: 'const created = await rotateApiKey(call, fields);\n      apiKeys.forgetAll();',
    replace: 'const created = await rotateApiKey(call, fields);',
    test: revocations,
    title: /After RotateApiKey the API key is refused/,
  },
  {
    what: 'UpdateApplication is not seen at once by the process that has run it',
    file: HANDLERS,
    find: 'const application = await updateApplication(call, fields, isKnownMethod);\n      apiKeys.forgetAll();',
    replace: 'const application = await updateApplication(call, fields, isKnownMethod);',
    test: revocations,
    title: /After UpdateApplication/,
  },
];
