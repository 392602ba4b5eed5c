import type { Application } from '../call.ts';

/** Interface, "Webhook". */
export interface Webhook {
  readonly id: string;
  readonly signingKey: string;
  readonly url: string;
  readonly isActive: boolean;
  readonly application: Application;
  readonly owner: { readonly id: string; readonly name: string | null; readonly email: string };
  readonly createdAt: Date;
  readonly updatedAt: Date;
}
