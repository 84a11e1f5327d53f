/** How long components wait for the store. Only tests may change these times, to make them short. */
export const WAITS = {
  /** How often a start or a command reports what it waits for, in milliseconds. */
  reportEveryMs: 5_000,
  /**
   * How long a caller waits for durability before it gets the answer that the store is unavailable, in milliseconds.
   */
  storeDeadlineMs: 5_000,
}
