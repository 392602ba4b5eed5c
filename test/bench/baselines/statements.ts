/** The statements of all servers, which do the same work as Usher's. */
import type { Application } from '../../../src/domain/call.ts';

export interface Statements {
  selectOwner(digest: Buffer): Promise<Application | undefined>;
  selectWebhook(applicationId: string, webhookId: string): Promise<WebhookRow | undefined>;
  /** Returns undefined if there is no such user. */
  findOrCreateSession(session: NewSession): Promise<SessionRow | undefined>;
  insertIntent(intent: NewIntent): Promise<void>;
  /** Returns whether there was such an event. */
  markDeleted(applicationId: string, eventId: string, now: Date): Promise<boolean>;
  /** Returns undefined if there is no such event. */
  insertCheckIn(checkIn: NewCheckIn): Promise<CheckInRow | undefined>;
}

export interface WebhookRow {
  readonly id: string;
  /** Encrypted. */
  readonly signingKey: Buffer;
  readonly url: string;
  readonly isActive: boolean;
  readonly ownerId: string;
  readonly ownerName: string | null;
  readonly ownerEmail: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

interface NewSession {
  readonly applicationId: string;
  readonly userId: string;
  readonly id: string;
  readonly ipAddress: string;
  readonly userAgent: string;
  readonly now: Date;
  readonly expiresAt: Date;
}

export interface SessionRow {
  readonly id: string;
  readonly email: string;
  readonly name: string | null;
  readonly profileImage: string | null;
  readonly walletAddress: string;
  readonly createdAt: Date;
}

interface NewIntent {
  readonly applicationId: string;
  readonly id: string;
  readonly redirectUri: string;
  readonly state: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

interface NewCheckIn {
  readonly applicationId: string;
  readonly eventId: string;
  readonly attendeeId: string;
  readonly now: Date;
}

export interface CheckInRow {
  readonly checkedInAt: Date;
  readonly alreadyCheckedIn: boolean;
}
