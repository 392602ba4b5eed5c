/**
 * The plans of the OpenID Foundation's conformance suite for what Usher offers. A certified provider passes them, too,
 * which shows that the tests are right.
 */
import { afterAll, describe, expect, test } from 'vitest';
import { BASIC_MODULES } from '../../../support/openid/basic-modules.ts';
import { CONFIG_MODULES } from '../../../support/openid/config-modules.ts';
import { BACK_CHANNEL_MODULES, RP_LOGOUT_MODULES } from '../../../support/openid/logout-modules.ts';
import type { OpenIdProvider } from '../../../support/openid/provider.ts';
import { startReferenceProvider } from '../../../support/openid/reference-provider.ts';
import { startUsherProvider } from '../../../support/openid/usher-provider.ts';

const providers: readonly OpenIdProvider[] = await Promise.all([startUsherProvider(), startReferenceProvider()]);

afterAll(async () => {
  for (const provider of providers) await provider[Symbol.asyncDispose]();
});

const PLANS = [
  { plan: 'Basic OP', modules: BASIC_MODULES, count: 38 },
  { plan: 'Config OP', modules: CONFIG_MODULES, count: 1 },
  { plan: 'RP-Initiated Logout OP', modules: RP_LOGOUT_MODULES, count: 11 },
  { plan: 'Back-Channel Logout OP', modules: BACK_CHANNEL_MODULES, count: 2 },
];

describe.each(PLANS)('$plan', ({ modules, count }) => {
  test('no module is missing', () => {
    expect(Object.keys(modules)).toHaveLength(count);
  });

  describe.each(providers)('$name', (provider) => {
    test.each(Object.entries(modules))('%s', async (_, run) => {
      await run(provider);
    });
  });
});
