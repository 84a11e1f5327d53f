/**
 * A small ledger written from the contract, for the real one to be held against. It keeps decisions and policies and
 * nothing else: every balance is added up again, from what each decision counts for at that moment.
 */
import {
  type Account,
  type AskedBudget,
  askedBudgets,
  type Balance,
  refusingApproval,
  rowsOf,
  violationOf,
} from './reference-budgets.js'
import {
  counts,
  defaultAmount,
  isInTime,
  postingsOf,
  type ReferenceDecision,
  reviewOf,
  statusOf,
  TTL_MS,
} from './reference-decision.js'
import { listAccounts, livePolicies, type PolicyHistory } from './reference-listing.js'
import { micro, number } from './reference-money.js'
import { type Judgement, judge, type ReferencePolicy, type ReferenceRequest } from './reference-policies.js'
import { byRow, type Step, type StepAnswer, type Who } from './step.js'

const DAY_MS = 86_400_000
const problem = (http: number, code: string): StepAnswer => ({ http, code })
const INVALID_TRANSITION = problem(409, 'invalid_transition')
const SUSPENDED = problem(409, 'agent_suspended')

export class ReferenceLedger {
  nowMs = 0
  readonly #policies = new Map<string, PolicyHistory>()
  readonly #agents = new Map<string, { readonly isRegistered: boolean; isSuspended: boolean }>()
  readonly #decisions = new Set<ReferenceDecision>()
  readonly #refs = new Map<string, ReferenceDecision>()
  readonly #calls = new Map<string, { readonly body: string; readonly atMs: number; decision: ReferenceDecision }>()

  perform(step: Step): StepAnswer {
    switch (step.op) {
      case 'decide':
        return this.#decide(step.ref, step.request, step.idempotency_key, step.holder ?? null)
      case 'put_policy':
        return this.#putPolicy(step.policy)
      case 'delete_policy':
        return this.#deletePolicy(step.policy_id)
      case 'suspend':
      case 'resume':
        return this.#suspend(step.agent_id, step.op === 'suspend')
      case 'budgets':
        return this.#budgets()
    }
    const decision = this.#refs.get(step.ref)
    return decision === undefined ? problem(404, 'not_found') : this.#transition(decision, step)
  }

  #transition(decision: ReferenceDecision, step: Extract<Step, { readonly ref: string }>): StepAnswer {
    switch (step.op) {
      case 'approve':
        return this.#approve(decision, step.exceed_budget ?? false)
      case 'claim':
        return this.#claim(decision, step.holder ?? null)
      case 'confirm':
        return this.#confirm(decision, given(step.amount), step.who ?? 'asker')
      case 'reject':
        return this.#reject(decision, step.who ?? 'asker')
      case 'correct':
        return this.#correct(decision, step.result, given(step.amount))
      case 'decline':
        return this.#decline(decision)
      case 'redeem':
        return this.#redeem(decision)
      default:
        return this.#view(decision)
    }
  }

  /** Whether the permit of the decision is shown to the key that asked. */
  mayRun(ref: string): boolean {
    const decision = this.#refs.get(ref)
    return decision !== undefined && this.#status(decision) === 'authorized' && !this.#isSuspended(decision)
  }

  livePolicies(): string[] {
    return this.#live().map(({ id }) => id)
  }

  suspendedAgents(): string[] {
    return [...this.#agents].flatMap(([id, { isSuspended }]) => (isSuspended ? [id] : []))
  }

  /** When the decision ends, or ended. */
  endOf(ref: string): number {
    return this.#refs.get(ref)?.expiresMs ?? this.nowMs
  }

  registerAgent(id: string, isSuspended: boolean): void {
    this.#agents.set(id, { isRegistered: true, isSuspended })
  }

  #suspend(id: string, isSuspended: boolean): StepAnswer {
    this.#agents.set(id, { isRegistered: this.#agents.get(id)?.isRegistered ?? false, isSuspended })
    return { http: 200 }
  }

  #putPolicy(policy: ReferencePolicy): StepAnswer {
    const found = this.#policies.get(policy.id)
    if (found !== undefined && found.deletedAt !== null) return problem(404, 'not_found')
    if (this.#live().some(({ id, name }) => name === policy.name && id !== policy.id))
      return problem(409, 'policy_name_taken')
    if (found === undefined) this.#policies.set(policy.id, { revisions: [policy], deletedAt: null })
    else found.revisions.push(policy)
    return { http: 200 }
  }

  #deletePolicy(id: string): StepAnswer {
    const found = this.#policies.get(id)
    if (found === undefined || found.deletedAt !== null) return problem(404, 'not_found')
    found.deletedAt = new Date(this.nowMs).toISOString()
    return { http: 204 }
  }

  #decide(ref: string, request: ReferenceRequest, key: string | undefined, name: string | null): StepAnswer {
    const body = sorted([request.agent_id, request.action, request.resource ?? null, request.context ?? null])
    const call = key === undefined ? undefined : this.#calls.get(key)
    if (call !== undefined && (this.nowMs < call.atMs + DAY_MS || this.#isOpen(call.decision))) {
      if (call.body !== body) return problem(422, 'idempotency_key_reused')
      if (call.decision.holder !== null && call.decision.holder.name !== name) return problem(409, 'already_claimed')
      this.#refs.set(ref, call.decision)
      return this.#view(call.decision)
    }
    const decision = this.#decideAnew(request, name)
    this.#refs.set(ref, decision)
    if (key !== undefined) this.#calls.set(key, { body, atMs: this.nowMs, decision })
    return this.#view(decision)
  }

  #decideAnew(request: ReferenceRequest, name: string | null): ReferenceDecision {
    const judgement = this.#judge(request)
    const asked =
      judgement.effect === 'allow'
        ? this.#ask(judgement, ['allow'], request)
        : judgement.effect === 'review'
          ? refusingApproval(this.#ask(judgement, ['allow', 'review'], request))
          : []
    const violation = violationOf(asked, (account) => this.balance(account))
    const { effect, reason_code, policy_id, rule } = violation ?? judgement
    const status = effect === 'deny' ? 'denied' : effect === 'review' ? 'awaiting_review' : 'authorized'
    const isAuthorized = status === 'authorized'
    const decision: ReferenceDecision = {
      ...{ request, effect, reason_code, policy_id, rule, status },
      expiresMs: this.nowMs + (status === 'awaiting_review' ? TTL_MS.awaiting_review : TTL_MS.authorized),
      postings: isAuthorized ? postingsOf(asked) : [],
      budgets: [],
      outcome: null,
      given: null,
      review: status === 'awaiting_review' ? 'waiting' : null,
      holder: isAuthorized ? { name } : null,
      isClaimed: false,
      wasAuthorized: isAuthorized,
      isRedeemed: false,
    }
    this.#decisions.add(decision)
    decision.budgets = rowsOf(asked, (account) => this.balance(account), isAuthorized)
    return decision
  }

  #approve(decision: ReferenceDecision, exceedBudget: boolean): StepAnswer {
    if (this.#isSuspended(decision)) return SUSPENDED
    if (this.#status(decision) !== 'awaiting_review') return INVALID_TRANSITION
    const judgement = this.#judge(decision.request)
    if (judgement.effect === 'deny') return problem(409, 'policy_denies')
    const asked = judgement.effect === 'log' ? [] : this.#ask(judgement, ['allow', 'review'], decision.request)
    const violation = violationOf(asked, (account) => this.balance(account))
    const isExcess = violation?.effect === 'review' && exceedBudget
    if (violation !== null && !isExcess)
      return problem(409, violation.reason_code === 'budget_exceeded' ? 'budget_exceeded' : 'policy_denies')
    decision.postings = postingsOf(asked)
    Object.assign(decision, { status: 'approved', expiresMs: this.nowMs + TTL_MS.approved, review: 'approved' })
    decision.budgets = rowsOf(asked, (account) => this.balance(account), true)
    return this.#view(decision)
  }

  #decline(decision: ReferenceDecision): StepAnswer {
    if (!['awaiting_review', 'approved'].includes(this.#status(decision))) return INVALID_TRANSITION
    Object.assign(decision, { status: 'declined', review: 'declined' })
    return this.#view(decision)
  }

  #claim(decision: ReferenceDecision, name: string | null): StepAnswer {
    if (decision.isClaimed && decision.holder?.name !== name) return problem(409, 'already_claimed')
    if (this.#isSuspended(decision)) return SUSPENDED
    const status = this.#status(decision)
    if (status === 'authorized' && decision.isClaimed) return this.#view(decision)
    if (status !== 'approved') return INVALID_TRANSITION
    if (this.#judge(decision.request).effect === 'deny') return problem(409, 'policy_denies')
    Object.assign(decision, { status: 'authorized', expiresMs: this.nowMs + TTL_MS.authorized, holder: { name } })
    Object.assign(decision, { isClaimed: true, wasAuthorized: true })
    return this.#view(decision)
  }

  /** With the newest permit that the decision gave; its end is told in whole seconds. */
  #redeem(decision: ReferenceDecision): StepAnswer {
    const endMs = decision.expiresMs - (decision.expiresMs % 1000)
    if (!decision.wasAuthorized || this.nowMs >= endMs) return problem(400, 'permit_invalid')
    if (decision.isRedeemed) return problem(409, 'permit_already_used')
    if (this.#isSuspended(decision)) return SUSPENDED
    if (this.#status(decision) !== 'authorized') return INVALID_TRANSITION
    decision.isRedeemed = true
    return this.#view(decision)
  }

  #confirm(decision: ReferenceDecision, given: bigint | null, who: Who): StepAnswer {
    const isLess = decision.postings.some((one) => one.readsAmount && given !== null && given < one.amount)
    const refused = refusedTo(who, decision, isLess)
    if (refused !== null) return refused
    if (isSame(decision, 'confirmed', given)) return this.#view(decision)
    const isLate = this.#isLate(decision)
    if (this.#status(decision) !== 'authorized' && !isLate) return INVALID_TRANSITION
    return this.#settle(decision, 'confirmed', given, isLate, false)
  }

  #reject(decision: ReferenceDecision, who: Who): StepAnswer {
    const refused = refusedTo(who, decision, true)
    if (refused !== null) return refused
    if (isSame(decision, 'rejected', null)) return this.#view(decision)
    const status = this.#status(decision)
    const isLate = this.#isLate(decision)
    const isWithdrawn = who === 'asker' && (status === 'awaiting_review' || status === 'approved')
    if (status !== 'authorized' && !isLate && !isWithdrawn) return INVALID_TRANSITION
    if (isWithdrawn) decision.review = 'withdrawn'
    return this.#settle(decision, 'rejected', null, isLate, false)
  }

  /** By the key that settles. */
  #correct(decision: ReferenceDecision, result: 'confirmed' | 'rejected', given: bigint | null): StepAnswer {
    const isCommitted = isSameCommitted(decision, result === 'confirmed' ? given : null)
    if (isSame(decision, result, given) && isCommitted) return this.#view(decision)
    const { outcome, wasAuthorized } = decision
    if (outcome === null || !wasAuthorized || !isInTime(decision, this.nowMs)) return INVALID_TRANSITION
    return this.#settle(decision, result, given, outcome.late, true)
  }

  #settle(
    decision: ReferenceDecision,
    result: 'confirmed' | 'rejected',
    given: bigint | null,
    late: boolean,
    corrected: boolean,
  ): StepAnswer {
    const isConfirmed = result === 'confirmed'
    const overage = isConfirmed && decision.postings.some((one) => one.readsAmount && (given ?? 0n) > one.amount)
    const amount = isConfirmed ? (given ?? defaultAmount(decision)) : null
    Object.assign(decision, { status: result, given, outcome: { result, amount, late, overage, corrected } })
    return this.#view(decision)
  }

  /** GET /v1/budgets, sorted. */
  #budgets(): StepAnswer {
    const used = [...this.#decisions].flatMap(({ postings }) => postings.map(({ account }) => account))
    const data = listAccounts(this.#policies, used, (account) => this.balance(account), this.nowMs)
    return { http: 200, data: data.sort(byRow) }
  }

  balance(account: Account): Balance {
    const found = [...this.#decisions].flatMap((one) => [...counts(one, this.nowMs)])
    const here = found.filter((one) => sorted(one.account) === sorted(account))
    const sum = (amounts: bigint[]) => amounts.reduce((all, one) => all + one, 0n)
    return { spent: sum(here.map(({ spent }) => spent)), reserved: sum(here.map(({ reserved }) => reserved)) }
  }

  #live(): ReferencePolicy[] {
    return livePolicies(this.#policies)
  }

  #judge(request: ReferenceRequest): Judgement {
    if (!this.#agents.get(request.agent_id)?.isSuspended) return judge(this.#live(), request, this.nowMs)
    return { effect: 'deny', reason_code: 'agent_suspended', policy_id: 'pol_default', rule: null, level: [] }
  }

  #ask(judgement: Judgement, winners: readonly string[], request: ReferenceRequest): AskedBudget[] {
    const isRegistered = this.#agents.get(request.agent_id)?.isRegistered ?? false
    return askedBudgets(judgement, winners, request, this.nowMs, isRegistered)
  }

  #isSuspended({ request }: ReferenceDecision): boolean {
    return this.#agents.get(request.agent_id)?.isSuspended ?? false
  }

  #status(decision: ReferenceDecision): string {
    return statusOf(decision, this.nowMs)
  }

  #isOpen(decision: ReferenceDecision): boolean {
    return Object.hasOwn(TTL_MS, this.#status(decision))
  }

  /** It was authorized, ran out, and may still be settled. */
  #isLate(decision: ReferenceDecision): boolean {
    return this.#status(decision) === 'expired' && decision.wasAuthorized && isInTime(decision, this.nowMs)
  }

  #view(decision: ReferenceDecision): StepAnswer {
    const { effect, reason_code, policy_id, rule, budgets, outcome } = decision
    const amount = outcome === null || outcome.amount === null ? null : number(outcome.amount)
    return {
      http: 200,
      ...{ effect, status: this.#status(decision), reason_code, policy_id, rule, budgets },
      review: reviewOf(decision, this.nowMs),
      outcome: outcome === null ? null : { ...outcome, amount },
    }
  }
}

function given(amount: number | null | undefined): bigint | null {
  return amount === null || amount === undefined ? null : micro(amount)
}

/** Whether a call says what the decision's outcome says already. */
function isSame(decision: ReferenceDecision, result: string, given: bigint | null): boolean {
  const amount = result === 'confirmed' ? (given ?? defaultAmount(decision)) : null
  return decision.outcome?.result === result && decision.outcome.amount === amount
}

/** Whether every budget that reads its amount would commit just what it has committed. */
function isSameCommitted(decision: ReferenceDecision, given: bigint | null): boolean {
  return decision.postings.every(
    ({ readsAmount, amount }) => !readsAmount || (decision.given ?? amount) === (given ?? amount),
  )
}

/** Once the permit was redeemed, the asker's word is not enough to say that less happened. */
function refusedTo(who: Who, { isRedeemed }: ReferenceDecision, isLess: boolean): StepAnswer | null {
  if (who === 'redeemer' && !isRedeemed) return problem(403, 'insufficient_scope')
  return who === 'asker' && isRedeemed && isLess ? problem(403, 'permit_redeemed') : null
}

/** JSON with the members of objects in order. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, one) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  )
}
