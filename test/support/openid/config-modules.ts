/** The module of the suite's plan "Config OP". */
import { expect } from 'vitest';
import type { Module } from './basic-modules.ts';
import { readMetadata, send } from './provider.ts';

export const CONFIG_MODULES: Readonly<Record<string, Module>> = {
  async 'oidcc-discovery-endpoint-verification'(provider) {
    const { issuer } = provider.route;
    const reply = await send(provider, `${issuer}/.well-known/openid-configuration`);
    expect(reply).toMatchObject({
      status: 200,
      headers: { 'content-type': expect.stringMatching(/^application\/json/) },
    });
    const metadata = await readMetadata(provider);
    for (const [name, value] of Object.entries(metadata).filter(([name]) => name.endsWith('_endpoint'))) {
      expect(value, name).toMatch(/^https:\/\/[^?#]+$/);
    }
    expect(metadata).toMatchObject({
      issuer,
      authorization_endpoint: expect.any(String),
      token_endpoint: expect.any(String),
      userinfo_endpoint: expect.any(String),
      jwks_uri: expect.stringMatching(/^https:/),
      response_types_supported: expect.arrayContaining(['code']),
      subject_types_supported: expect.arrayContaining(['public']),
      id_token_signing_alg_values_supported: expect.arrayContaining(['RS256']),
      scopes_supported: expect.arrayContaining(['openid']),
      grant_types_supported: expect.arrayContaining(['authorization_code']),
      // Both are certified, so both must be offered.
      token_endpoint_auth_methods_supported: expect.arrayContaining(['client_secret_basic', 'client_secret_post']),
      code_challenge_methods_supported: ['S256'],
      claims_supported: expect.arrayContaining(['sub']),
    });
    const { keys } = JSON.parse((await send(provider, metadata.jwks_uri)).body);
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) {
      expect(key).toMatchObject({ kty: 'RSA', kid: expect.any(String), n: expect.stringMatching(/^[\w-]+$/) });
      for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) expect(key).not.toHaveProperty(secret);
    }
  },
};
