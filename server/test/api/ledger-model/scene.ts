import { expect } from 'vitest'
import type { LedgerServer } from './ledger-server.js'
import { ReferenceLedger } from './reference-ledger.js'
import { periodOf } from './reference-money.js'
import type { ReferencePolicy } from './reference-policies.js'
import type { Step, StepAnswer } from './step.js'

/** The periods whose ends are worth standing at. */
const PERIODS = ['hourly', 'daily', 'weekly', 'monthly', 'yearly'] as const
/** Of the agents that ask, these are registered: agent_2 is not. */
export const REGISTERED = ['agent_0', 'agent_1']
const LATE_MS = 30 * 86_400_000

let scenes = 0

/**
 * One sequence of the model test: the reference, and names that no other sequence has. Many sequences use one server, one
 * after the other, each with policies of its own.
 */
export class Scene {
  readonly ledger = new ReferenceLedger()
  /** The decisions that there are. */
  readonly refs: string[] = []
  readonly #number = scenes++
  #asked = 0

  constructor(server: LedgerServer) {
    this.ledger.nowMs = server.now().getTime()
  }

  /** A step with the names of this scene. */
  step(drawn: object): Step {
    const text = JSON.stringify({ ref: `d${this.#asked++}`, ...drawn })
    return JSON.parse(text.replaceAll(/"(pol|key)_(\d)"/g, (_, kind, digit) => `"${this.#name(kind, digit)}"`))
  }

  #name(kind: string, digit: string): string {
    if (kind === 'pol') return `pol_${String(this.#number * 10 + Number(digit)).padStart(26, '0')}`
    return `${kind}_${digit}_${this.#number}`
  }

  ref(pick: number): string {
    return this.refs[pick % this.refs.length] as string
  }

  async begin(server: LedgerServer, policies: readonly ReferencePolicy[]): Promise<void> {
    for (const id of REGISTERED) this.ledger.registerAgent(id, false)
    for (const policy of policies) await this.expectSame(server, this.step({ op: 'put_policy', policy }))
  }

  /** Reads everything, and leaves nothing behind that the next scene would meet. */
  async end(server: LedgerServer): Promise<void> {
    const listed = await server.list(this.refs)
    for (const ref of this.refs) {
      const wanted = this.ledger.perform({ op: 'get', ref })
      expect(this.#comparable(listed.get(ref) ?? { http: 404 }, wanted), `listed: ${ref}`).toEqual(wanted)
    }
    await this.expectSame(server, { op: 'budgets' })
    for (const policy_id of this.ledger.livePolicies())
      await this.expectSame(server, { op: 'delete_policy', policy_id })
    for (const agent_id of this.ledger.suspendedAgents()) await this.expectSame(server, { op: 'resume', agent_id })
  }

  /** Leaves nothing behind where the two ledgers differ already. */
  async clear(server: LedgerServer): Promise<void> {
    for (const digit of ['0', '1', '2']) {
      await server.perform({ op: 'delete_policy', policy_id: this.#name('pol', digit) })
      await server.perform({ op: 'resume', agent_id: `agent_${digit}` })
    }
  }

  /** Does the step in both ledgers. */
  async expectSame(server: LedgerServer, step: Step): Promise<void> {
    const wanted = this.ledger.perform(step)
    const found = await server.perform(step)
    const at = new Date(this.ledger.nowMs).toISOString()
    expect(this.#comparable(found, wanted), `at ${at}: ${JSON.stringify(step)}`).toEqual(wanted)
    if (step.op === 'decide' && wanted.http === 200) this.refs.push(step.ref)
    if (step.op === 'get' && wanted.http === 200)
      expect(found.permit_token !== undefined, `a permit at ${at}: ${step.ref}`).toBe(this.ledger.mayRun(step.ref))
  }

  /** The members of the answer that the reference tells of. */
  #comparable(found: StepAnswer, wanted: StepAnswer): object {
    const members = Object.entries(found).filter(([name]) => name in wanted)
    return { ...Object.fromEntries(members.map(([name, value]) => [name, this.#looked(name, value)])) }
  }

  #looked(name: string, value: unknown): unknown {
    if (name === 'review') return (value as { status: string } | null)?.status ?? null
    if (name === 'outcome' && value !== null) {
      const { result, amount, late, overage, corrected } = value as Record<string, unknown>
      return { result, amount, late, overage, corrected }
    }
    const mine = ['0', '1', '2'].map((digit) => this.#name('pol', digit))
    return name === 'data' ? (value as { policy_id: string }[]).filter((row) => mine.includes(row.policy_id)) : value
  }

  /** A moment to stand at, or just before or after. */
  moment(what: 'hence' | 'period' | 'end' | 'last_correction', pick: number): number {
    const { nowMs } = this.ledger
    if (what === 'hence') return nowMs
    if (what === 'period')
      return Date.parse(periodOf(PERIODS[pick % PERIODS.length] as string, nowMs).resets_at as string)
    return this.ledger.endOf(this.ref(pick)) + (what === 'end' ? 0 : LATE_MS)
  }

  /** Time never goes back. */
  moveClock(server: LedgerServer, toMs: number): void {
    this.ledger.nowMs = Math.max(this.ledger.nowMs, toMs)
    server.setTime(new Date(this.ledger.nowMs))
  }
}
