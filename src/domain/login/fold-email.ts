/** Folds every spelling that any collation of Postgres may take for one address, and some more. */
export function foldEmail(email: string): string {
  return email.normalize('NFKD').toLowerCase().replace(/\p{M}/gu, '').toUpperCase();
}
