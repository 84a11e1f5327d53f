import { openSqliteStore } from '#server/adapters/store-sqlite/open'

/** Confirms a decision in data that no server runs on, as a release that settles decisions writes it. */
export async function settleDecision(dataDir: string, id: string): Promise<void> {
  const store = await openSqliteStore({ dataDir })
  const found = await store.findDecision(id)
  if (found === null) throw new Error(`There is no decision ${id}.`)
  const { version, evaluated_at: at, agent_id } = found.decision
  const outcome = {
    result: 'confirmed',
    amount: null,
    note: null,
    at,
    late: false,
    overage: false,
    corrected: false,
  } as const
  const decision = { ...found.decision, version: version + 1, status: 'confirmed', outcome } as const
  const { log, next_index: index } = await store.openLog()
  const entry = {
    id: 'aud_01kagx3v5ne8sr6w1y6gqk4t2h',
    log,
    index,
    at,
    type: 'decision.confirmed' as const,
    actor: null,
    subject: id,
    agent_id,
    data: {},
    leaf: 'not looked at here',
  }
  const change = { kind: 'decision.update', decision, expected_version: version, reservation: null } as const
  const { conflict } = await store.commit([{ change, entry, idempotency: null }])
  await store.close()
  if (conflict !== null) throw new Error(`The decision could not be settled: ${conflict}.`)
}
