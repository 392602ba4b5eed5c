/** Look-ups of host names that return only addresses which the policy allows. */
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import type { LookupFunction } from 'node:net';
import type { AddressPolicy } from '../domain/webhooks/address-policy.ts';

export type Resolve = (host: string) => Promise<readonly string[]>;

/** Applications see this message and no detail: they must not learn which internal names exist, or their addresses. */
export class ForbiddenAddressError extends Error {
  constructor() {
    super('The address is not allowed');
  }
}

const RESOLVE_TIMEOUT_MS = 3_000;
const RESOLVE_TRIES = 2;
/** A refusal takes a multiple of this, because its real duration would reveal which internal names exist. */
const REFUSAL_STEP_MS = 500;

/**
 * Returns a function that asks the hosts file, and then the name servers of the machine. `dns.lookup` would block one
 * of the four threads of libuv, so four slow look-ups would stop every delivery.
 */
export function createResolve(hostsFile = '/etc/hosts'): Resolve {
  const resolver = new Resolver({ timeout: RESOLVE_TIMEOUT_MS, tries: RESOLVE_TRIES });
  return async (host) => {
    if (/(^|\.)localhost\.?$/.test(host)) return ['127.0.0.1', '::1'];
    const known = await findInHosts(hostsFile, host);
    if (known.length > 0) return known;
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  };
}

/** Reads the file at every look-up, because an orchestrator may change it. */
async function findInHosts(file: string, host: string): Promise<readonly string[]> {
  const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n');
  const entries = lines.map((line) => line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/));
  const name = host.toLowerCase().replace(/\.$/, '');
  return entries.filter(([, ...names]) => names.includes(name)).flatMap(([address = '']) => address);
}

/**
 * Creates the `lookup` of a socket. It fails if any address of the host is forbidden. Otherwise it returns the addresses
 * that it has checked, because a second look-up might return others.
 *
 * @param isPlain whether the URLs are `http:`. Those may only have addresses that the policy excepts.
 */
export function createLookup(
  policy: AddressPolicy,
  resolve: Resolve,
  { isPlain }: { isPlain: boolean },
): LookupFunction {
  return (host, { all }, callback) => {
    const startedAt = performance.now();
    const refuse = () => {
      const waitMs = REFUSAL_STEP_MS - ((performance.now() - startedAt) % REFUSAL_STEP_MS);
      setTimeout(() => callback(new ForbiddenAddressError(), []), waitMs).unref();
    };
    resolve(host).then((addresses) => {
      const isAllowed = (address: string) => (isPlain ? policy.isException(address) : policy.allows(address));
      const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
      const [first] = found;
      if (!first || !addresses.every(isAllowed)) refuse();
      else if (all) callback(null, found);
      else callback(null, first.address, first.family);
    }, refuse);
  };
}
