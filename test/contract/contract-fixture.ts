/** A service for one file of contract tests, with two applications, and calls as the first of them. */
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import { afterAll } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { call, mainProtocolOf } from '../support/protocols.ts';
import {
  ADMIN_KEY,
  createTenant,
  REDIRECT_URI,
  startTestService,
  type TestServiceOptions,
} from '../support/service.ts';

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
export const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000';
export const API_KEY = /^usk_[0-9A-Za-z]{49}$/;
export const INVALID_API_KEY = 'Invalid API key';

/** Starts the service while tests are collected, so that tables of cases can use its applications. */
export async function openContractFixture({
  redirectUris = [REDIRECT_URI],
  ...options
}: TestServiceOptions & { redirectUris?: string[] } = {}) {
  const service = await startTestService(options);
  afterAll(service.close);
  const tenant = await createTenant(service, { name: 'Test & <application>', redirectUris });
  const other = await createTenant(service, {
    name: 'Other',
    redirectUris: [REDIRECT_URI, 'https://other.test/callback'],
  });
  const credentials = { 'x-api-key': tenant.apiKey };
  /** Makes the call over REST, or over Connect when the RPC has no route. */
  async function callWith(method: DescMethodUnary, fields: JsonObject, headers?: Record<string, string>) {
    const credential = method.parent === AdminService ? { 'x-admin-key': ADMIN_KEY } : credentials;
    return call(mainProtocolOf(method), service.url, method, fields, headers ?? credential);
  }
  /** Returns `ok`, or the message of the error that the key gets. */
  async function tryKey(apiKey: string): Promise<string> {
    const { code, message } = await callWith(EventService.method.listEvents, {}, { 'x-api-key': apiKey });
    return code === 'ok' ? code : message;
  }
  return { service, tenant, other, credentials, callWith, tryKey };
}
