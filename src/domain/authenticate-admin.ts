import { hash, timingSafeEqual } from 'node:crypto';
import { ServiceError } from './errors.ts';

/** Compares in constant time. @throws ServiceError `Invalid admin key` */
export function authenticateAdmin(given: string | undefined, adminKey: string): void {
  if (given === undefined || !timingSafeEqual(digest(given), digest(adminKey))) {
    throw new ServiceError('INVALID_ADMIN_KEY');
  }
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
