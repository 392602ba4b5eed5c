/** `convert-users`: makes lines for `POST /admin/users.jsonl` of the export of another product. */
import { auth0 } from './auth0.ts';
import { clerk } from './clerk.ts';
import { firebase } from './firebase.ts';
import { keycloak } from './keycloak.ts';
import type { Product } from './product.ts';
import { supabase } from './supabase.ts';
import { toUserLine } from './to-user-line.ts';

const PRODUCTS: Readonly<Record<string, Product>> = { auth0, keycloak, supabase, firebase, clerk };

/** Yields lines. At the end `report` gets one line with the counts of users, and of what is left out. @throws Error */
export async function* convertUsers(
  name: string | undefined,
  path: string | undefined,
  report: (line: string) => void,
): AsyncGenerator<string> {
  const product = name !== undefined && Object.hasOwn(PRODUCTS, name) && PRODUCTS[name];
  if (!product || !path) throw new Error(`Usage: convert-users ${Object.keys(PRODUCTS).join('|')} <file>`);
  let users = 0;
  const dropped = new Map<string, number>();
  const drop = (what: string) => dropped.set(what, (dropped.get(what) ?? 0) + 1);
  for await (const row of product.read(path)) {
    const found = product.toUser(row, drop);
    const line = found && toUserLine(found, drop);
    if (!line) continue;
    users++;
    yield line;
  }
  const counts = [...dropped].map(([what, count]) => `${what}: ${count}`).sort();
  report(`users converted: ${users}${counts.length > 0 ? `, left out: ${counts.join(', ')}` : ''}`);
}
