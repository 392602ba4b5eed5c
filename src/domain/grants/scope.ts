/** The scopes of OpenID Connect that Usher supports, as bits. */
const SCOPE_BITS = { openid: 1, profile: 2, email: 4, offline_access: 8, groups: 16 } as const;

export type Scope = keyof typeof SCOPE_BITS;

/** The bit of the scope for groups, for statements that read them. */
export const GROUPS_BIT = SCOPE_BITS.groups;

const SCOPES = Object.keys(SCOPE_BITS) as readonly Scope[];

/** Returns the bits of the scopes in a list that is separated by spaces. Unknown scopes are ignored. */
export function readScope(text: string): number {
  const names = text.split(' ');
  return SCOPES.reduce((bits, scope) => (names.includes(scope) ? bits | SCOPE_BITS[scope] : bits), 0);
}

export function presentScope(bits: number): string {
  return SCOPES.filter((scope) => hasScope(bits, scope)).join(' ');
}

export function hasScope(bits: number, scope: Scope): boolean {
  return (bits & SCOPE_BITS[scope]) !== 0;
}
