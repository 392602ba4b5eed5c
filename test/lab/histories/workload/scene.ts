/** What the parts of the workload share. */
import type { FakeProvider } from '../../../support/fake-provider.ts';
import type { MailServer } from '../../../support/mail-server.ts';
import type { Answer } from '../checker/operation.ts';
import type { Client } from './client.ts';
import { pick } from './random.ts';
import type { Begun } from './reader.ts';
import type { RecordedCall, Recorder } from './recorder.ts';

/** A public client of OpenID Connect, whose refresh tokens rotate. It shares sign-ins. */
interface OidcApplication {
  readonly id: string;
  readonly clientId: string;
  readonly apiKey: string;
}

export interface Scene {
  readonly recorder: Recorder;
  readonly client: Client;
  readonly replicas: number;
  /** Of the replicas. */
  readonly urls: readonly string[];
  readonly applicationId: string;
  readonly clientId: string;
  readonly oidcApplication: OidcApplication;
  readonly provider: FakeProvider;
  /** Where the replicas send e-mails. */
  readonly mail: MailServer;
  /** A user who has signed in, and stays. */
  readonly ownerId: string;
  /** An endpoint for test messages. */
  readonly endpoint: string;
  /** Tells services that answer from their memory of a session that has begun. */
  readonly tellReaders: (begun: Begun) => void;
  /** Makes the live session of a user due for renewal, by SQL. */
  readonly makeDue: (userId: string) => Promise<void>;
  /** Lets the live session of a user expire, with its predecessors, by SQL. They can still be renewed. */
  readonly expire: (userId: string) => Promise<void>;
  /** Returns the permits of an admin key, which has 20 a day, by SQL. */
  readonly allowRecoveryLinks: () => Promise<unknown>;
}

export function anyReplica({ replicas }: Pick<Scene, 'replicas'>): number {
  return pick([...Array(replicas).keys()]);
}

/** Makes a call at any replica. */
export function callAny(scene: Pick<Scene, 'recorder' | 'replicas'>, call: RecordedCall): Promise<Answer | undefined> {
  return scene.recorder.call(anyReplica(scene), call);
}

/** Part of the workload: makes a call, of its choice, about one of a few objects that it has at a time. */
export interface Actor {
  step(): Promise<unknown>;
}

/** Logs a user in and returns the auth token, or undefined where a call has not succeeded. */
export async function logIn(scene: Scene, subject: string, userId: string): Promise<string | undefined> {
  const { clientId } = scene;
  const intent = await callAny(scene, {
    rpc: 'AuthService/GenerateAuthUrl',
    subject: `intent of ${subject}`,
    request: { clientId, redirectUri: 'https://app.test/callback', state: 'state' },
  });
  if (!intent?.loginIntentId) return undefined;
  const request = { loginIntentId: intent.loginIntentId, userId };
  return (await callAny(scene, { rpc: 'AdminService/CompleteLogin', subject, request }))?.authToken;
}
