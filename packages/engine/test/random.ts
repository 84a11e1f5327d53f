/** A source of choices: seeded here, or drawn by fast-check. */
export interface Random {
  /** A whole number from 0 to below the limit. */
  below(limit: number): number
}

/** The seed of this run: random, or `SEED` from the environment to run the same again. */
export const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))

/** The same choices for the same seed (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return {
    below(limit) {
      state = (state + 0x6d2b79f5) >>> 0
      let mixed = Math.imul(state ^ (state >>> 15), state | 1)
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
      return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit)
    },
  }
}

export function pick<T>(random: Random, items: readonly T[]): T {
  return items[random.below(items.length)] as T
}

/** True in this percentage of calls. */
export function chance(random: Random, percent: number): boolean {
  return random.below(100) < percent
}

export function listOf<T>(random: Random, from: number, to: number, make: () => T): T[] {
  return Array.from({ length: from + random.below(to - from + 1) }, make)
}

export function shuffled<T>(random: Random, items: readonly T[]): T[] {
  const rest = [...items]
  return items.map(() => rest.splice(random.below(rest.length), 1)[0] as T)
}
