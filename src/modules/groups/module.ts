/** The RPCs with which operators manage groups. What a group means at a sign-in is core. */
import { AdminService } from '../../../gen/usher/v1/admin_pb.ts';
import { createServiceProcedures } from '../../api/procedures.ts';
import type { Module } from '../module.ts';
import { createGroupHandlers } from './group-handlers.ts';

export const groupsModule: Module = {
  name: 'groups',
  settings: {},
  createRpcs: (_config, parts) => ({
    procedures: createServiceProcedures(AdminService, createGroupHandlers(parts), 'adminKey'),
  }),
};
