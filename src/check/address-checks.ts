/** Where `PUBLIC_URL` leads, and what stands before Usher: each is found out by a real request. */
import { MAX_MESSAGE_BYTES } from '../api/call-info.ts';
import { findProxyProblem } from '../delivery/find-proxy-problem.ts';
import { type Check, type CheckFinding, fail, pass, warn } from '../modules/check.ts';
import { type Asked, askUsher, describeReason, UnprovenError } from './ask-usher.ts';
import type { FullContext } from './check-context.ts';
import { checkGrpc, checkStream } from './proxy-calls.ts';
import { isAnswer } from './reach-usher.ts';

/** Runs the check with what has answered at `PUBLIC_URL`, if that was Usher. */
function behindPublicUrl(
  check: string,
  settings: readonly string[],
  find: (asked: Asked, again: Again, context: FullContext) => CheckFinding | Promise<CheckFinding>,
): Check<FullContext> {
  return {
    check,
    settings,
    async run(context) {
      const { publicUrl, secrets, usher } = context;
      if (!isAnswer(usher.atPublicUrl)) return [];
      const target = { url: publicUrl, isLocal: false };
      return [await find(usher.atPublicUrl, (sent) => askUsher(target, secrets.encryptionKeys ?? [], sent), context)];
    },
  };
}

type Again = (sent: Parameters<typeof askUsher>[2]) => Promise<Asked>;

/** No address of the internet (RFC 5737). */
const FORGED = '192.0.2.123';
/** Of 16 KiB that Usher takes: cookies and tokens of several applications. */
const HEADERS = Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`x-usher-padding-${at}`, 'x'.repeat(2_000)]));

export const ADDRESS_CHECKS: readonly Check<FullContext>[] = [
  {
    check: 'public URL',
    settings: ['PUBLIC_URL'],
    async run({ publicUrl, usher: { atPublicUrl, isHere } }) {
      if (isAnswer(atPublicUrl)) return [pass(`${publicUrl} leads to this Usher`)];
      // Before the first start there are no keys to ask with.
      if (!atPublicUrl) return [];
      const what = `${publicUrl} does not lead to this Usher: ${describeReason(atPublicUrl)}`;
      if (isHere || atPublicUrl instanceof UnprovenError) {
        return [fail(what, 'Set the URL at which callers reach it, or correct DNS, the certificate or the proxy')];
      }
      return [warn(what, 'Usher does not run here. Start it, and check again')];
    },
  },
  behindPublicUrl('scheme', ['PUBLIC_URL'], ({ answer: { forwardedProto } }, _, { publicUrl }) => {
    const { hostname, protocol } = new URL(publicUrl);
    if (forwardedProto !== undefined && forwardedProto !== protocol.slice(0, -1)) {
      const why = 'Set the URL that browsers show, or correct the header';
      return warn(`the proxy says that callers use ${forwardedProto}, and PUBLIC_URL is ${protocol}`, why);
    }
    const isLocal = /^(?:localhost|.*\.localhost|127\..*|\[::1\])$/.test(hostname);
    if (protocol === 'https:' || isLocal) return pass(`callers use ${protocol}`);
    return warn('callers use http:', 'Codes and tokens can be read on their way, and passkeys do not work. Use https');
  }),
  behindPublicUrl('host', ['PUBLIC_URL'], ({ answer: { host } }, _, { publicUrl }) => {
    const wanted = new URL(publicUrl).host;
    if (host === wanted) return pass(`requests arrive with the host ${wanted}`);
    const why = 'Let the proxy pass the header Host on (nginx: proxy_set_header Host $host)';
    return warn(`requests arrive with the host ${host} instead of ${wanted}`, why);
  }),
  behindPublicUrl('client address', ['TRUSTED_PROXIES'], async (asked, again) =>
    judgeAddress(asked, (await again({ headers: { 'x-forwarded-for': FORGED } })).answer),
  ),
  behindPublicUrl('request body', ['PUBLIC_URL'], async (_, again) => {
    const { answer } = await again({ body: Buffer.alloc(MAX_MESSAGE_BYTES, 'x') }).catch(explainRefusal);
    if (answer?.bodyBytes === MAX_MESSAGE_BYTES) return pass('64 KiB arrive');
    const why = 'Let the proxy take 64 KiB (nginx: client_max_body_size)';
    return warn(`a body of 64 KiB does not arrive${answer ? '' : '. The proxy refuses it'}`, why);
  }),
  behindPublicUrl('request head', ['PUBLIC_URL'], async (_, again) => {
    const { answer } = await again({ headers: HEADERS }).catch(explainRefusal);
    if (answer) return pass('12 KiB arrive');
    const why = 'Let the proxy take 16 KiB (nginx: large_client_header_buffers)';
    return warn('a head of 12 KiB does not arrive. The proxy refuses it', why);
  }),
  behindPublicUrl('gRPC', ['PUBLIC_URL'], (_, __, { publicUrl }) => checkGrpc(publicUrl)),
  behindPublicUrl('stream', ['PUBLIC_URL'], (_, __, { publicUrl }) => checkStream(publicUrl)),
  {
    check: 'webhook proxy',
    settings: ['WEBHOOK_PROXY_URL'],
    async run({ config: { webhookProxyUrl } }) {
      if (webhookProxyUrl === undefined) return [];
      const proxy = new URL(webhookProxyUrl);
      const problem = await findProxyProblem(proxy);
      if (problem === undefined) return [pass(`${proxy.host} can be reached`)];
      return [fail(`${proxy.host} cannot be reached: ${problem}`, 'No webhook gets a message')];
    },
  },
];

/** A connection that breaks is a refusal, too. */
function explainRefusal(): Partial<Asked> {
  return {};
}

/** @param forged how Usher has seen a request that claims another address */
function judgeAddress({ answer, localPort }: Asked, forged: Asked['answer']): CheckFinding {
  const { clientAddress, forwardedFor, isFromTrustedProxy, remoteAddress, remotePort } = answer;
  const isDirect = remotePort === localPort;
  const isBelieved = forged.clientAddress === FORGED;
  if (isDirect) {
    if (!isBelieved) return pass(`${clientAddress}, with no proxy before Usher`);
    return warn(
      `callers at ${remoteAddress} may claim any address, and there is no proxy`,
      'Remove the addresses that are not those of a proxy',
    );
  }
  if (isBelieved && forged.forwardedFor === FORGED) {
    return fail(
      'the proxy passes X-Forwarded-For of its callers on as it is',
      'Everybody can claim any address, and get around the limits. Let the proxy add the address of its caller',
    );
  }
  if (forwardedFor === undefined) {
    return warn(
      `all callers seem to be at ${remoteAddress}: the proxy sends no X-Forwarded-For`,
      'They share the limits of one network. Let the proxy send it (nginx: $proxy_add_x_forwarded_for)',
    );
  }
  if (!isFromTrustedProxy) {
    return warn(
      `all callers seem to be at ${remoteAddress}, the proxy`,
      `They share the limits of one network. Add ${remoteAddress}`,
    );
  }
  if (isBelieved)
    return pass(`this machine is in TRUSTED_PROXIES itself, so it cannot tell. It is seen as ${clientAddress}`);
  return pass(`${clientAddress}, behind the proxy ${remoteAddress}`);
}
