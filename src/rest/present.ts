/** Messages as the documented JSON. Protobuf's own JSON drops `false` and empty strings, and `.000`. */
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';
import type { ExchangeTokenResponse, GenerateAuthUrlResponse } from '../../gen/usher/v1/auth_pb.ts';
import type { GetWebhookResponse } from '../../gen/usher/v1/webhook_pb.ts';

/** Interface, "Generate Auth URL". */
export function presentAuthUrl({ authUrl, loginIntentId }: GenerateAuthUrlResponse) {
  return { authUrl, loginIntentId };
}

/** Interface, "User" and "Session"; a user without a name has no `name`. */
export function presentExchange({ user, session }: ExchangeTokenResponse) {
  return {
    user: {
      email: user?.email,
      name: user?.name,
      profileImage: user?.profileImage ?? null,
      walletAddress: user?.walletAddress,
    },
    session: { id: session?.id, createdAt: presentTime(session?.createdAt) },
  };
}

/** Interface, "Webhook". */
export function presentWebhook({ webhook }: GetWebhookResponse) {
  const { application, owner } = webhook ?? {};
  return {
    webhookId: webhook?.webhookId,
    signingKey: webhook?.signingKey,
    url: webhook?.url,
    isActive: webhook?.isActive,
    application: { id: application?.id, name: application?.name, clientId: application?.clientId },
    owner: { id: owner?.id, name: owner?.name, email: owner?.email },
    createdAt: presentTime(webhook?.createdAt),
    updatedAt: presentTime(webhook?.updatedAt),
  };
}

/** ISO 8601 in UTC, always with three fractional digits. */
function presentTime(time: Timestamp | undefined): string | undefined {
  return time && timestampDate(time).toISOString();
}
