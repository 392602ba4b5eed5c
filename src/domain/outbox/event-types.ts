/** What webhooks can subscribe to. */
export const EVENT_TYPES = [
  'session.created',
  'session.revoked',
  'user.created',
  'user.updated',
  'user.deactivated',
  'user.deleted',
  'event.created',
  'event.updated',
  'event.deleted',
  'check_in.created',
  'check_in.undone',
  'webhook.test',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** Subscribes to every type, including future ones. */
export const EVERY_TYPE = '*';

/** The type of messages to endpoints for back-channel logout. Webhooks cannot subscribe to it. */
export const LOGOUT = 'logout';
