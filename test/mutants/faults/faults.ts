import type { Fault } from '../fault.ts';
import { KEY_FAULTS } from './keys.ts';
import { LOGIN_FAULTS } from './login.ts';
import { PAGE_FAULTS } from './pages.ts';
import { TENANT_FAULTS } from './tenants.ts';
import { USER_FAULTS } from './users.ts';

export const FAULTS: readonly Fault[] = [
  ...TENANT_FAULTS,
  ...USER_FAULTS,
  ...KEY_FAULTS,
  ...LOGIN_FAULTS,
  ...PAGE_FAULTS,
];
