/** Messages as the documented JSON. Protobuf's own JSON drops `false`, empty strings and `.000`. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { TimestampSchema } from '@bufbuild/protobuf/wkt';
import type { ExchangeTokenResponseSchema, GenerateAuthUrlResponseSchema } from '../../../gen/usher/v1/auth_pb.ts';
import type { GetWebhookResponseSchema } from '../../../gen/usher/v1/webhook_pb.ts';

/** Interface, "Generate Auth URL". */
export function presentAuthUrl({ authUrl, loginIntentId }: MessageInitShape<typeof GenerateAuthUrlResponseSchema>) {
  return { authUrl, loginIntentId };
}

/** Interface, "User" and "Session". A user without a name has no `name`. */
export function presentExchange({ user, session }: MessageInitShape<typeof ExchangeTokenResponseSchema>) {
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
export function presentWebhook({ webhook }: MessageInitShape<typeof GetWebhookResponseSchema>) {
  return { ...webhook, createdAt: presentTime(webhook?.createdAt), updatedAt: presentTime(webhook?.updatedAt) };
}

/** Returns ISO 8601 in UTC, always with three fractional digits. */
function presentTime(time: MessageInitShape<typeof TimestampSchema> | undefined): string | undefined {
  return time && new Date(Number(time.seconds ?? 0) * 1_000 + (time.nanos ?? 0) / 1e6).toISOString();
}
