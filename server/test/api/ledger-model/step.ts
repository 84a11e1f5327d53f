/** What can happen in a ledger test, in the spelling of the golden cases. `ref` names the decision of an earlier step. */
import type { ReferencePolicy, ReferenceRequest } from './reference-policies.js'

/** The key that asked, one that only redeems, one that settles. */
export type Who = 'asker' | 'redeemer' | 'settler'

interface Of<Op extends string> {
  readonly op: Op
  readonly ref: string
}

export type Step =
  | (Of<'decide'> & {
      readonly request: ReferenceRequest
      readonly idempotency_key?: string
      readonly holder?: string | null
    })
  | (Of<'approve'> & { readonly exceed_budget?: boolean })
  | (Of<'claim'> & { readonly holder?: string | null })
  | (Of<'confirm'> & { readonly amount?: number | null; readonly who?: Who })
  | (Of<'reject'> & { readonly who?: Who })
  | (Of<'correct'> & { readonly result: 'confirmed' | 'rejected'; readonly amount?: number | null })
  | Of<'decline'>
  | Of<'redeem'>
  | Of<'get'>
  | { readonly op: 'put_policy'; readonly policy: ReferencePolicy }
  | { readonly op: 'delete_policy'; readonly policy_id: string }
  | { readonly op: 'suspend' | 'resume'; readonly agent_id: string }
  | { readonly op: 'budgets' }

/** An HTTP status with what is looked at of the body: all of the expected one is. */
export interface StepAnswer {
  readonly http: number
  readonly code?: string
  readonly [member: string]: unknown
}

type Row = Readonly<Record<string, string | null>>

/** The order of budget rows: by policy id, unit (in lower case), period, agent and start. */
export function byRow(a: object, b: object): number {
  const key = ({ policy_id, unit, period, agent_id, starts_at }: Row) =>
    JSON.stringify([policy_id, unit?.toLowerCase(), period, agent_id ?? '', starts_at ?? ''])
  return key(a as Row) < key(b as Row) ? -1 : 1
}
