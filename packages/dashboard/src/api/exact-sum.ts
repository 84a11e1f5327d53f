/** The wire has amounts with at most 6 decimals. */
const MICRO = 1e6

/** Of two amounts of the wire, without the dust of binary fractions: 0.1 and 0.2 are 0.3. */
export function sumOf(one: number, other: number): number {
  return Math.round((one + other) * MICRO) / MICRO
}
