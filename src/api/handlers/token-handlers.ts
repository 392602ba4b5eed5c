import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { TokenService } from '../../../gen/usher/v1/token_pb.ts';
import { check, text } from '../../domain/core/validation.ts';
import type { ApplicationHandlers } from '../procedures.ts';
import type { ServiceParts } from '../service-parts.ts';

/** Longer than any token of Usher. */
const rules = { token: text({ max: 8_192 }) };

export function createTokenHandlers({
  introspectToken,
}: Pick<ServiceParts, 'introspectToken'>): ApplicationHandlers<typeof TokenService> {
  return {
    async introspectToken(call, fields) {
      const status = await introspectToken(call, check(fields, rules).token);
      if (!status.active) return { active: false };
      const {
        client_id: clientId,
        token_type: tokenType,
        grant_id: grantId,
        exp,
        auth_time: authTime,
        ...others
      } = status;
      const times = { exp: toTimestamp(exp), ...(authTime !== undefined && { authTime: toTimestamp(authTime) }) };
      return { ...others, clientId, tokenType, ...(grantId !== undefined && { grantId }), ...times };
    },
  };
}

function toTimestamp(seconds: number) {
  return timestampFromMs(seconds * 1_000);
}
