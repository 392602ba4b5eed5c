import { ERRORS, type ErrorCode, type ErrorReason } from '../../domain/core/errors.ts';

export interface DocumentedError {
  readonly reason: ErrorReason;
  readonly code: ErrorCode;
  readonly message: string;
  /** The condition of the error as the comment states it, or an empty string. */
  readonly when: string;
}

const CODES = [...new Set(Object.values(ERRORS).map(([code]) => code.toUpperCase()))];
const CODE = new RegExp(`\\b(?=(?:${CODES.join('|')})\\b)`);

/** Returns the errors that a comment of the schema names. @throws Error if `ERRORS` lacks one of them */
export function readErrors(comment: string): DocumentedError[] {
  return comment.split(CODE).flatMap((part) => {
    const code = CODES.find((each) => new RegExp(`^${each}\\b`).test(part))?.toLowerCase();
    if (!code) return [];
    return [...part.matchAll(/"([^"]+)"([^";.]*)/g)].map(([, message = '', rest = '']) => {
      const found = Object.entries(ERRORS).find(([, error]) => error[0] === code && error[1] === message);
      if (!found) throw new Error(`There is no error ${code} "${message}"`);
      const when = rest.replace(/^[,\s]+|[,\s]*\b(?:or|and|and with)?[,\s]*$/g, '');
      // The key comes from ERRORS, so it is a reason.
      return { reason: found[0] as ErrorReason, code: found[1][0], message, when };
    });
  });
}

/** Returns the comment without the sentences that name errors. */
export function withoutErrors(comment: string): string {
  const paragraphs = comment.split('\n\n').map((paragraph) => {
    const sentences = paragraph.split(/(?<=\.)\s+/);
    return sentences.filter((sentence) => !CODE.test(sentence)).join(' ');
  });
  return paragraphs.filter((paragraph) => paragraph !== '').join('\n\n');
}
