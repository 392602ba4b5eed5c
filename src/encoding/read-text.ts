import { JoinedBytes } from './joined-bytes.ts';

/** Returns the body of a response as text. @throws Error if the status is not 200, or the body is too large */
export async function readText({ status, body }: Response, maxBytes: number): Promise<string> {
  if (status !== 200 || !body) throw new Error(`The reply has status ${status}`);
  return await readBounded(body, maxBytes);
}

/** Returns a body as text. @throws Error if it has more than `maxBytes` */
export async function readBounded(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const joined = new JoinedBytes();
  for await (const chunk of body) {
    if (joined.length + chunk.length > maxBytes) throw new Error('The reply is too large');
    joined.add(chunk);
  }
  return joined.bytes.toString('utf8');
}
