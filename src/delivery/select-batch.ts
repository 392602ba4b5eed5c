/** Chooses what a batch sends. */
import type { Run } from '../database/database.ts';
import { type DueDelivery, type Endpoint, selectDueDeliveries, selectEndpoint, selectFirstDelivery } from './queue.ts';

export interface SelectedBatch {
  /** Undefined if the webhook has been deleted. */
  readonly endpoint: Endpoint | undefined;
  readonly due: readonly DueDelivery[];
  /** Whether the deliveries are sent one after the other. */
  readonly inOrder: boolean;
  /** Whether an earlier message has to come first, which has not been fanned out. */
  readonly isHeld: boolean;
}

/** Returns up to `limit` deliveries that are due; one if the webhook is ordered. What is urgent keeps no order. */
export async function selectBatch(
  run: Run,
  queue: { applicationId: string; webhookId: string; now: Date },
  limit: number,
): Promise<SelectedBatch> {
  const [[endpoint], found] = await Promise.all([
    run(selectEndpoint, queue),
    run(selectDueDeliveries, { ...queue, limit }),
  ]);
  const urgent = found.filter(({ isUrgent }) => isUrgent);
  if (urgent.length > 0 || !endpoint?.ordered) {
    return { endpoint, due: endpoint?.ordered ? urgent.slice(0, 1) : found, inOrder: false, isHeld: false };
  }
  const [first] = await run(selectFirstDelivery, queue);
  if (!first?.isDue) return { endpoint, due: [], inOrder: true, isHeld: false };
  return { endpoint, due: first.isFirst ? [first] : [], inOrder: true, isHeld: !first.isFirst };
}
