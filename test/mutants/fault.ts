/** A fault of the kind that a bad merge makes, and the test that must notice it. */
export interface Fault {
  readonly what: string;
  /** The file with the fault, from the root of the project. */
  readonly file: string;
  /** A text that the file has exactly once. */
  readonly find: string;
  readonly replace: string;
  /** The test file that runs. */
  readonly test: string;
  /** The full title of a test that must fail, without its numbers, matches this. It has no flags: Vitest takes none. */
  readonly title: RegExp;
}

/** Returns the name that a function of the operation has. */
export function uncapitalize(operation: string): string {
  return operation.charAt(0).toLowerCase() + operation.slice(1);
}
