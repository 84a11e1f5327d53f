import type { DecisionStore } from './decisions.js'

const END_OF_TIME = '9999-12-31T23:59:59.999Z'
/** The first one is nearly always intact. */
const LOOKED_AT = 8

/**
 * As `DecisionStore.firstApprovalEnd`. It skips damaged approvals, which no sweep receives: such a one would be due
 * forever.
 */
export async function firstApprovalEnd(decisions: Pick<DecisionStore, 'listOverdue'>): Promise<string | null> {
  for (let after: string | null = null; ; ) {
    const { items, next } = await decisions.listOverdue('approved', END_OF_TIME, { limit: LOOKED_AT, after })
    const [first] = items
    if (first !== undefined) return new Date(first.expires_at).toISOString()
    if (next === null) return null
    after = next
  }
}
