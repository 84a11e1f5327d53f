import { join } from 'node:path'
import { Connection } from '#server/stores/sqlite/driver'
import { micro } from '../api/ledger-model/reference-money.js'

interface Posting {
  readonly account: object
  readonly amount: string
  readonly reads_amount: boolean
}

/** What is stored of a decision, as far as its accounts follow from it. */
export interface StoredSpending {
  readonly status: string
  readonly postings: readonly Posting[]
  readonly outcome: { readonly amount: number | null } | null
  readonly review: object | null
  readonly claimed_at: string | null
}

interface Amounts {
  spent: bigint
  reserved: bigint
}

/** The accounts that a data directory holds, and the same recomputed from its decisions. Amounts in millionths. */
export function readAccounts(dataDir: string): { readonly stored: object; readonly recomputed: object } {
  const db = Connection.openReadOnly(join(dataDir, 'countersign.db'))
  try {
    return db.snapshot(() => {
      const rows = db.all('SELECT policy_id, unit, period, agent_id, starts_at, spent, reserved FROM accounts')
      const stored = rows.map(({ spent, reserved, ...key }) => [nameOf(key), { spent, reserved }])
      const documents = db.all('SELECT document FROM decisions').map(({ document }) => JSON.parse(document as string))
      return { stored: Object.fromEntries(stored), recomputed: recompute(documents) }
    })
  } finally {
    db.close()
  }
}

export function nameOf({ policy_id, unit, period, agent_id, starts_at }: Readonly<Record<string, unknown>>): string {
  return [policy_id, unit, period, agent_id ?? '', starts_at ?? ''].join(' ')
}

/** The accounts that decisions add up to, by name. */
export function recompute(documents: readonly StoredSpending[]): object {
  const accounts = new Map<string, Amounts>()
  for (const document of documents)
    for (const posting of document.postings) {
      const name = nameOf(posting.account as Readonly<Record<string, unknown>>)
      const account = accounts.get(name) ?? { spent: 0n, reserved: 0n }
      accounts.set(name, account)
      const amount = BigInt(posting.amount)
      if (document.status === 'authorized' || document.status === 'approved') account.reserved += amount
      else account.spent += spentOf(document, posting)
    }
  const texts = [...accounts].map(([name, { spent, reserved }]) => [
    name,
    { spent: String(spent), reserved: String(reserved) },
  ])
  return Object.fromEntries(texts)
}

function spentOf({ status, outcome, review, claimed_at }: StoredSpending, { amount, reads_amount }: Posting): bigint {
  if (status === 'confirmed' && reads_amount && outcome !== null && outcome.amount !== null)
    return micro(outcome.amount)
  const isSpent = status === 'confirmed' || (status === 'expired' && (review === null || claimed_at !== null))
  return isSpent ? BigInt(amount) : 0n
}
