/** The seed of this run: `SEED`, else a new one. */
export const SEED = Number(process.env.SEED) || Math.floor(Math.random() * 2 ** 31)

/** Numbers from 0 up to 1, the same for the same seed (xorshift32). */
export function seededRandom(seed: number): () => number {
  let state = seed | 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}
