import { and, eq, isNull, sql } from 'drizzle-orm';
import type { RowOf, Statement } from '../../database/pool/database.ts';
import { applications } from '../../database/schema/schema.ts';
import { type Branding, brandingColumns } from '../applications/branding.ts';
import type { Call } from '../core/call.ts';
import { UUID } from '../core/validation.ts';
import { findLoginIntent } from './login-intent.ts';

/** The application of a login that cannot continue, and the URIs to which its error page may link. */
export interface LoginApplication {
  readonly applicationId: string;
  readonly applicationName: string;
  readonly branding: Branding;
  /** The redirect URI of the login, or all URIs of its application if the login was removed. */
  readonly redirectUris: readonly string[];
  readonly locale?: string | null;
}

/** Returns the application of the intent or, if the intent was removed, of the client ID. Both IDs may be any text. */
export async function findLoginApplication(
  call: Call,
  { loginIntentId, clientId }: { loginIntentId: string; clientId: string },
): Promise<LoginApplication | undefined> {
  const intent = UUID.test(loginIntentId) ? await findLoginIntent(call, loginIntentId) : undefined;
  return intent ? { ...intent, redirectUris: [intent.redirectUri] } : findApplicationOfClient(call, clientId);
}

/** Returns the application of the client ID, which may be any text. */
export async function findApplicationOfClient({ run }: Call, clientId: string): Promise<LoginApplication | undefined> {
  if (!/^[\x20-\x7e]{1,255}$/.test(clientId)) return undefined;
  const [application] = await run(selectApplicationOfClient, { clientId });
  return application;
}

const columns = {
  applicationId: applications.id,
  applicationName: applications.name,
  branding: brandingColumns,
  redirectUris: applications.redirectUris,
};

const selectApplicationOfClient: Statement<RowOf<typeof columns>[]> = (db) =>
  db
    .select(columns)
    .from(applications)
    .where(and(eq(applications.clientId, sql.placeholder('clientId')), isNull(applications.deletedAt)))
    .prepare('select_application_of_client');
