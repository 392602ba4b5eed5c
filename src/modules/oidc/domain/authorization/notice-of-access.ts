/** Notices of what people have let act for them: a client that nobody has registered, or a device. */
import type { Call } from '../../../../domain/core/call.ts';
import { ONCE_A_DAY, takePermit } from '../../../../domain/login/rate-limit.ts';
import { type NoticeOrigin, noticeParameters } from '../../../../domain/notices/store-notice.ts';
import { digestBytes, type SealKeys } from '../tokens/sealed-bytes.ts';

/** Returns the parameters of `noticesOf`. At most one notice a day is stored about the same access of a user. */
export async function noticeOfAccess(
  call: Call,
  keys: SealKeys,
  { access, ...origin }: NoticeOrigin & { readonly access: readonly string[] },
) {
  const parameters = noticeParameters(call, origin);
  if (parameters.noticeLanguage === null) return parameters;
  const key = digestBytes(keys, Buffer.from(JSON.stringify(['notice of access', ...access])));
  // Whoever lets the same program in each morning would otherwise learn to ignore the e-mails.
  return (await takePermit(call, key, ONCE_A_DAY)) ? parameters : { ...parameters, noticeLanguage: null };
}
