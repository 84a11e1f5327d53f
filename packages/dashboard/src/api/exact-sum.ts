/** Amounts in the API have at most 6 decimals. */
const MICRO = 1e6

/** Adds two amounts of the API exactly: 0.1 and 0.2 are 0.3. */
export function sumOf(one: number, other: number): number {
  return Math.round((one + other) * MICRO) / MICRO
}
