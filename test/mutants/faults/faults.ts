import type { Fault } from '../fault.ts';
import { ENDINGS_FAULTS } from './endings.ts';
import { ERASURE_FAULTS } from './erasure.ts';
import { ORDER_FAULTS } from './order.ts';
import { RACES_FAULTS } from './races.ts';
import { TENANTS_FAULTS } from './tenants.ts';
import { TESTING_FAULTS } from './testing.ts';
import { TOKENS_FAULTS } from './tokens.ts';
import { USERS_FAULTS } from './users.ts';

export const FAULTS: readonly Fault[] = [
  ...TENANTS_FAULTS,
  ...TOKENS_FAULTS,
  ...USERS_FAULTS,
  ...ERASURE_FAULTS,
  ...ENDINGS_FAULTS,
  ...RACES_FAULTS,
  ...ORDER_FAULTS,
  ...TESTING_FAULTS,
];
