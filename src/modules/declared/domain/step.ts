import type { Call } from '../../../domain/core/call.ts';
import type { Losers } from './count-losers.ts';

/** A change of one thing, by a verb that an RPC has, too. */
export interface Step {
  /** The client ID of the application, or the name of the group. */
  readonly subject: string;
  /** Names the entry in errors. */
  readonly label: string;
  /** What `plan` says. Undefined for what changes nothing but who writes. */
  readonly text?: string | undefined;
  /** Whose access the step takes. */
  readonly losers?: Losers | undefined;
  /** The RPC that would do the same. */
  readonly action: string;
  readonly run: (call: Call) => Promise<unknown>;
}

/** What the steps of an entry have in common. */
export type StepNames = Pick<Step, 'subject' | 'label'>;
