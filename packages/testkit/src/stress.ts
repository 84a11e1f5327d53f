/** How much a suite does: enough for every push, or far more where time does not matter. */
interface Size {
  readonly ci: number
  readonly full: number
}

/** THE table of sizes. `STRESS=full` takes the second column. */
const SIZES = {
  /** Pairs of policies and request on which the engine and a naive evaluator have to agree. */
  engine_pairs: { ci: 20_000, full: 500_000 },
  /** Times that a process is killed while it commits. */
  store_kills: { ci: 5, full: 50 },
  /** Times that each of several processes changes the signing keys. */
  signing_key_changes: { ci: 15, full: 200 },
  /** Times that a server is killed under load. */
  server_kills: { ci: 5, full: 200 },
} as const satisfies Record<string, Size>

const column = process.env.STRESS === 'full' ? 'full' : 'ci'

/** The size of each suite in this run. */
export const stress = Object.fromEntries(
  Object.entries(SIZES).map(([suite, size]) => [suite, size[column]]),
) as Readonly<Record<keyof typeof SIZES, number>>
