import { expect, test } from 'vitest';
import { request } from './http.ts';

/** Tests what holds for every path that is only read. */
export function testReads(service: { readonly url: string }, path: string): void {
  test('returns 405 with Allow for POST', async () => {
    const reply = await request(service.url, { method: 'POST', path });
    expect(reply.status).toBe(405);
    expect(reply.headers.allow).toBe('GET, HEAD');
  });

  test('returns the same headers for HEAD as for GET, without a body', async () => {
    const [head, get] = await Promise.all(['HEAD', 'GET'].map((method) => request(service.url, { method, path })));
    expect({ status: head?.status, body: head?.body }).toEqual({ status: 200, body: '' });
    expect(head?.headers['content-length']).toBe(get?.headers['content-length']);
    expect(Number(get?.headers['content-length'])).toBe(Buffer.byteLength(get?.body ?? ''));
  });
}
