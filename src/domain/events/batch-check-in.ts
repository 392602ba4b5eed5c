import type { TransactionalCall } from '../core/call.ts';
import { check, identifier, listOf, objectOf, type Unchecked, uuid } from '../core/validation.ts';
import { admitScans } from './admit-scans.ts';
import { type ScanResult, scanRules } from './scan.ts';

const MAX_SCANS = 200;

const rules = {
  eventId: identifier,
  scans: listOf(objectOf({ ...scanRules, scanId: uuid }), { min: 1, max: MAX_SCANS }),
};

/**
 * Checks attendees in, and returns the result of each scan, in the order of the scans. A refused scan does not change the
 * results of the others.
 *
 * @throws ServiceError `Event not found`, also for a deleted one
 */
export async function batchCheckIn(
  call: TransactionalCall,
  request: Unchecked<keyof typeof rules>,
): Promise<readonly ScanResult[]> {
  const { eventId, scans } = check(request, rules);
  return admitScans(call, eventId, scans, eventId);
}
