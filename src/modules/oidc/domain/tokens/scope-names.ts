/** The scopes of a resource. A grant has their names, and an access token says by bits which of these it has. */
import type { ResourceScope } from '../../../../database/schema/column-types.ts';
import { presentScope } from '../../../../domain/grants/scope.ts';

export function toNames(scopes: readonly ResourceScope[]): string[] {
  return scopes.map(({ name }) => name);
}

/** Returns the names that are both in the scope of a request and in the list, in the order of the list. */
export function namesIn(scope: string, names: readonly string[]): string[] {
  const wanted = new Set(scope.split(' '));
  return names.filter((name) => wanted.has(name));
}

/** Returns a bit for each granted name that is also chosen. */
export function toBits(granted: readonly string[], chosen: readonly string[]): bigint {
  return granted.reduce((bits, name, at) => (chosen.includes(name) ? bits | (1n << BigInt(at)) : bits), 0n);
}

export function fromBits(granted: readonly string[], bits: bigint): string[] {
  return granted.filter((_, at) => (bits & (1n << BigInt(at))) !== 0n);
}

/** Returns a scope as text: those of OpenID Connect, and then those of the resource. */
export function presentScopes(bits: number, names: readonly string[]): string {
  return [presentScope(bits), ...names].filter(Boolean).join(' ');
}
