/** Makes lines for `POST /admin/users.jsonl` of the export of another product. */
import { auth0 } from './auth0.ts';
import { clerk } from './clerk.ts';
import { firebase } from './firebase.ts';
import { keycloak } from './keycloak.ts';
import { supabase } from './supabase.ts';
import { has, type Product, toUserLine } from './to-user-line.ts';

const PRODUCTS: Readonly<Record<string, Product>> = { auth0, keycloak, supabase, firebase, clerk };

/**
 * Yields lines. At the end `report` gets one line with the counts of users, and of what is left out.
 *
 * @throws Error also if the file has no user to convert: it is probably of another product
 */
export async function* convertUsers(
  name: string | undefined,
  path: string | undefined,
  report: (line: string) => void,
): AsyncGenerator<string> {
  const product = name !== undefined && Object.hasOwn(PRODUCTS, name) && PRODUCTS[name];
  if (!product || !path)
    throw new Error(
      `Usage: node src/run.js test/examples/convert-users/main.ts ${Object.keys(PRODUCTS).join('|')} <file>`,
    );
  let users = 0;
  const dropped = new Map<string, number>();
  const drop = (what: string) => dropped.set(what, (dropped.get(what) ?? 0) + 1);
  const known = new Set(product.fields);
  for await (const row of product.read(path)) {
    for (const [name, value] of Object.entries(row)) if (!known.has(name) && isFilled(value)) drop(nameField(name));
    const found = product.toUser(row, drop);
    const line = found && toUserLine(found, drop);
    if (!line) continue;
    users++;
    yield line;
  }
  const counts = [...dropped].map(([what, count]) => `${what}: ${count}`).sort();
  const leftOut = counts.length > 0 ? `, left out: ${counts.join(', ')}` : '';
  if (users === 0) throw new Error(`The file has no user to convert${leftOut}`);
  report(`users converted: ${users}${leftOut}`);
}

/** Whether a field holds something that the user loses: not 0, nor the UUID that is all 0. */
function isFilled(value: unknown): boolean {
  if (value === false || /^[0-]+$/.test(String(value))) return false;
  return typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : has(value);
}

/** Names are those of the product, unless somebody has chosen them, as in the export of Auth0. */
function nameField(name: string): string {
  return `field ${name.replaceAll(/[^\w .-]/g, '_').slice(0, 40)}`;
}
