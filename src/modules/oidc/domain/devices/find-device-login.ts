import { and, eq, isNull, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { RowOf, Statement } from '../../../../database/pool/database.ts';
import { loginIntents } from '../../../../database/schema/intent-schema.ts';
import { applications, users } from '../../../../database/schema/schema.ts';
import { brandingColumns } from '../../../../domain/applications/branding.ts';
import type { Call } from '../../../../domain/core/call.ts';

/** Null unless the login is for a resource. */
const client = alias(applications, 'client');

const columns = {
  id: loginIntents.id,
  applicationId: loginIntents.applicationId,
  applicationName: applications.name,
  /** The name of the application that has begun the login. */
  clientName: sql<string>`coalesce(${client.name}, ${applications.name})`,
  branding: brandingColumns,
  clientId: applications.clientId,
  createdAt: loginIntents.createdAt,
  expiresAt: loginIntents.expiresAt,
  /** The network of the device. */
  startedFrom: sql<string>`${loginIntents.startedFrom}`,
  completedAt: loginIntents.completedAt,
  authenticatedAt: loginIntents.authenticatedAt,
  browserDigest: loginIntents.browserDigest,
  answerDigest: loginIntents.answerDigest,
  /** Null until the person has decided. */
  approved: loginIntents.approved,
  /** Null unless a user has completed the login, and is still there. */
  userId: sql<string | null>`${users.id}`,
  /** As the pages show the user: by address, name or wallet. Empty without a user. */
  userLabel: sql<string>`coalesce(nullif(${users.email}, ''), ${users.name}, ${users.walletAddress}, '')`,
};

export type DeviceLogin = RowOf<typeof columns>;

/** Returns undefined if the login or its application does not exist. @param id of a sealed link, which only devices have */
export async function findDeviceLogin({ run }: Call, id: string): Promise<DeviceLogin | undefined> {
  const [login] = await run(selectDeviceLogin, { id });
  return login;
}

const selectDeviceLogin: Statement<DeviceLogin[]> = (db) =>
  db
    .select(columns)
    .from(loginIntents)
    .innerJoin(applications, and(eq(applications.id, loginIntents.applicationId), isNull(applications.deletedAt)))
    .leftJoin(client, eq(client.clientId, loginIntents.clientId))
    .leftJoin(users, eq(users.id, loginIntents.userId))
    .where(eq(loginIntents.id, sql.placeholder('id')))
    .prepare('select_device_login');
