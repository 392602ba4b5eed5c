/** How many queues of one application may be claimed at a time. Each claim has several statements, which others wait for. */
const MAX_CLAIMS = 2;

/** Turns of applications: one with many due queues leaves the connections to Postgres and half of the slots to others. */
export class Turns {
  readonly #claims = new Map<string, number>();
  readonly #attempts = new Map<string, number>();
  readonly #maxAttempts: number;

  constructor(maxAttempts: number) {
    this.#maxAttempts = Math.max(1, maxAttempts);
  }

  /** Counts a claim of the application. Returns what ends it. Further ends do nothing. */
  beginClaim(applicationId: string): () => void {
    addTo(this.#claims, applicationId, 1);
    let isOver = false;
    return () => {
      if (!isOver) addTo(this.#claims, applicationId, -1);
      isOver = true;
    };
  }

  /** Counts attempts to quick endpoints of the application. */
  addAttempts(applicationId: string, change: number): void {
    addTo(this.#attempts, applicationId, change);
  }

  hasTurn(applicationId: string): boolean {
    return (
      (this.#claims.get(applicationId) ?? 0) < MAX_CLAIMS &&
      (this.#attempts.get(applicationId) ?? 0) < this.#maxAttempts
    );
  }

  /** Returns the applications that must wait, so that a search finds the queues of others. */
  listWaiting(): string[] {
    return [...new Set([...this.#claims.keys(), ...this.#attempts.keys()])].filter((id) => !this.hasTurn(id));
  }
}

function addTo(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
