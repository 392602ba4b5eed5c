import { ERRORS, type ErrorCode, type ErrorReason } from '../domain/core/errors.ts';

export interface DocumentedError {
  readonly reason: ErrorReason;
  readonly code: ErrorCode;
  readonly message: string;
  /** The condition of the error as the comment states it, or an empty string. */
  readonly when: string;
}

const REASON = `\\b(?:${Object.keys(ERRORS).join('|')})\\b`;
/** A reason, and the words after it up to the next reason or the end of the clause. */
const NAMED = new RegExp(`(${REASON})((?:(?!${REASON})[^;.])*)`, 'g');

/** Returns the errors whose reasons a comment of the schema names. */
export function readErrors(comment: string): DocumentedError[] {
  return [...comment.matchAll(NAMED)].map(([, named = '', rest = '']) => {
    // The pattern consists of the reasons.
    const reason = named as ErrorReason;
    const [code, message] = ERRORS[reason];
    const when = rest.replace(/^[,\s]+|[,\s]*\b(?:or|and|and with)?[,\s]*$/g, '');
    return { reason, code, message, when };
  });
}

/** Returns the comment without the sentences that name errors. */
export function withoutErrors(comment: string): string {
  const paragraphs = comment.split('\n\n').map((paragraph) => {
    const sentences = paragraph.split(/(?<=\.)\s+/);
    return sentences.filter((sentence) => readErrors(sentence).length === 0).join(' ');
  });
  return paragraphs.filter((paragraph) => paragraph !== '').join('\n\n');
}
