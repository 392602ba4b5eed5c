import { randomBytes } from 'node:crypto';

export const CLIENT_ID = /^client_[0-9a-f]{32}$/;

export function newClientId(): string {
  return `client_${randomBytes(16).toString('hex')}`;
}
