import { ACCOUNT_APPLICATION_ID } from '../account/account-application.ts';
import { CONSOLE_APPLICATION_ID } from '../operators/console-application.ts';

/** The applications of Usher itself. Operators neither see nor change them. */
export const OWN_APPLICATION_IDS: readonly string[] = [ACCOUNT_APPLICATION_ID, CONSOLE_APPLICATION_ID];
