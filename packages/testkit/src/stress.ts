/** How much a suite does: enough for every push, or far more where time does not matter. */
interface Size {
  readonly ci: number
  readonly full: number
}

/** THE table of sizes. `STRESS=full` takes the second column. */
const SIZES = {
  /** Pairs of policies and request on which the engine and a naive evaluator have to agree. */
  engine_pairs: { ci: 10_000, full: 500_000 },
  /** Questions what an agent can get, each with many requests that must not get anything else. */
  capability_questions: { ci: 120, full: 5_000 },
  /** Times that a process is killed while it commits. */
  store_kills: { ci: 5, full: 50 },
  /** Bytes changed and files cut in copies of a store, half of them of one that was killed. */
  store_damages: { ci: 40, full: 2_000 },
  /** Databases whose unused bytes are wiped. */
  wiped_databases: { ci: 5, full: 1_000 },
  /** Times that many decisions race for the room in a few accounts. */
  ledger_races: { ci: 4, full: 200 },
  /** Times that each of several processes changes the signing keys. */
  signing_key_changes: { ci: 15, full: 200 },
  /** Times that a server is killed under load. */
  server_kills: { ci: 5, full: 200 },
  /** Times that a server is killed under load before every permit is proved to a checkpoint. */
  proof_kills: { ci: 2, full: 100 },
  /** The same on MongoDB, where another process takes over the trees only when the lease of the killed one is over. */
  proof_kills_on_mongodb: { ci: 1, full: 30 },
  /** Times that a server is killed while it accepts the loss of its store. */
  accepted_losses: { ci: 2, full: 100 },
  /** Sequences on which the server and the reference ledger have to agree. */
  ledger_sequences: { ci: 300, full: 5_000 },
  /** The same on MongoDB, where each takes three times as long. */
  ledger_sequences_on_mongodb: { ci: 100, full: 5_000 },
  /** Of how many golden cases of the ledger one runs on a whole server; the reference ledger answers all of them. */
  ledger_cases_for_each: { ci: 3, full: 1 },
  ledger_cases_for_each_on_mongodb: { ci: 10, full: 1 },
  /** Runs of stores that overtake one another, and of stores that are cut off and killed. */
  ledger_protocol_runs: { ci: 8, full: 200 },
  ledger_protocol_faulty_runs: { ci: 6, full: 100 },
  /** Decisions that parallel callers ask for while they race for one budget. */
  budget_race_requests: { ci: 2_000, full: 20_000 },
  /** Transitions of the same few decisions that many callers make at once. */
  storm_transitions: { ci: 1_500, full: 50_000 },
  /** Processes that race for one approved decision. */
  claiming_processes: { ci: 10, full: 100 },
  /** Times that a server is killed somewhere in a transition of a decision. */
  settle_kills: { ci: 5, full: 200 },
  /** Times that replicas have to see a change, a freeze, a kill or a store that is away. */
  replica_rounds: { ci: 5, full: 100 },
  /** Times that the PostgreSQL under FerretDB is killed while a server decides. */
  database_kills: { ci: 3, full: 10 },
  /** Of how many cases of the suite of stores one runs on FerretDB, where each takes half a second. */
  store_cases_for_each_on_ferretdb: { ci: 3, full: 1 },
  /** Of how many edits in the tables of docs/security.md one is made. Commands look for each, which takes seconds. */
  edits_for_each: { ci: 2, full: 1 },
  edits_for_each_on_mongodb: { ci: 8, full: 1 },
  /** Times that a primary steps down under load in each of four ways. */
  step_downs: { ci: 1, full: 30 },
  /** Decisions that callers of several replicas ask for while they race for one budget. */
  replica_race_requests: { ci: 600, full: 20_000 },
  /** Runs of several processes that write logs while a reader merges them. */
  log_merges: { ci: 300, full: 20_000 },
  /** Events that a receiver gets which fails at random, while the server is killed this many times. */
  webhook_events: { ci: 1_000, full: 50_000 },
  webhook_kills: { ci: 5, full: 100 },
  /** Times that a server, a follower of its audit log, or both are killed. */
  follow_kills: { ci: 6, full: 300 },
  /** The same on MongoDB, where each killed server leaves a log that another one has to complete. */
  follow_kills_on_mongodb: { ci: 3, full: 60 },
  /** Bytes of an export that are changed; a tenth as many lines that are removed, and that change places; half of that cuts. */
  export_changes: { ci: 60, full: 1_000 },
  /** Entries of that export. */
  changed_export_entries: { ci: 600, full: 2_000 },
  /** Entries of an export that the command line verifies, and how often it is changed before. */
  export_entries: { ci: 3_000, full: 100_000 },
  /** Decisions that the command line compares with the log. */
  compared_decisions: { ci: 2_000, full: 100_000 },
  export_attacks: { ci: 2, full: 20 },
  /** Decisions in the store while pages show lists of them. */
  dashboard_decisions: { ci: 1_000, full: 100_000 },
  /** Decisions that move to MongoDB, and how often the command is killed meanwhile. */
  moved_decisions: { ci: 200, full: 100_000 },
  move_kills: { ci: 3, full: 25 },
  /** Decisions and transitions of them while connections to the store are cut. */
  relay_operations: { ci: 250, full: 10_000 },
  /** Changed exports on which two verifiers have to agree. */
  python_exports: { ci: 20, full: 2_000 },
  /** Requests that are erased among many others, before the files are searched for them. */
  erased_requests: { ci: 5, full: 400 },
  /** Of how many stores that do not find out what became of a write one is tried. */
  relay_sabotages_for_each: { ci: 2, full: 1 },
} as const satisfies Record<string, Size>

const column = process.env.STRESS === 'full' ? 'full' : 'ci'

/** The size of each suite in this run. */
export const stress = Object.fromEntries(
  Object.entries(SIZES).map(([suite, size]) => [suite, size[column]]),
) as Readonly<Record<keyof typeof SIZES, number>>

/**
 * How many of a number of random draws this run makes: a fifth in the quick tier, where a `*.slow.test.ts` beside it makes them all.
 */
export function drawsOf(all: number): number {
  return process.env.TIER === 'quick' ? Math.ceil(all / 5) : all
}
