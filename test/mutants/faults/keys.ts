import type { Fault } from '../fault.ts';

const revocations = 'test/contract/revocations.test.ts';
const HANDLERS = 'src/api/handlers/admin-handlers.ts';

/** API keys and admin keys. */
export const KEY_FAULTS: readonly Fault[] = [
  ...['deleteApplication', 'revokeApiKey'].map((name) => ({
    what: `${name} is not seen at once by the process that has run it`,
    file: HANDLERS,
    find: `await ${name}(call, fields);\n      apiKeys.forgetAll();`,
    replace: `await ${name}(call, fields);`,
    test: revocations,
    title: new RegExp(`After ${name} the API key is refused`, 'i'),
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
    find: 'const application = await updateApplication(call, fields);\n      apiKeys.forgetAll();',
    replace: 'const application = await updateApplication(call, fields);',
    test: revocations,
    title: /After UpdateApplication/,
  },
];
