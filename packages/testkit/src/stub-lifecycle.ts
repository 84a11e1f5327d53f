/**
 * Decisions with a life, for a stub: asked for, settled, reviewed, claimed. Enough to see what a client makes of each
 * transition; what a decision point checks beyond that (keys, policies, budgets, time) is not here.
 */
import type { ServerResponse } from 'node:http'
import type { Decision, DecisionRequest, DecisionStatus, Effect, Review } from '@countersign/contract'
import { answerJson, answerProblem, decisionAbout, newDecisionId } from './stub-answers.js'
import type { ReceivedRequest, StubAnswer } from './stub-decision-point.js'

export interface StubLifecycle {
  /** Answers the endpoints of decisions, anything else with 404. */
  readonly answer: StubAnswer
  /** Changes a decision behind the API's back, such as its status to `expired`; who waits for it is answered. */
  change(id: string, change: Partial<Decision>): void
  /** Of the decisions, in the order in which they were asked for. */
  ids(): readonly string[]
  /** How many long polls are open. */
  waitingCount(): number
}

interface Kept {
  decision: Decision
  holder: string | null
  readonly waiting: Set<() => void>
}

interface Transition {
  readonly from: readonly DecisionStatus[]
  readonly to: (kept: Kept, body: Body) => Partial<Decision>
}

type Body = Readonly<Record<string, unknown>>

const STATUS_OF: Readonly<Record<Effect, DecisionStatus>> = {
  allow: 'authorized',
  log: 'authorized',
  deny: 'denied',
  review: 'awaiting_review',
}

const TRANSITIONS: Readonly<Record<string, Transition>> = {
  confirm: { from: ['authorized', 'expired'], to: (_kept, body) => settled('confirmed', body) },
  reject: {
    from: ['awaiting_review', 'approved', 'authorized', 'expired'],
    to: ({ decision }, body) => ({
      ...settled('rejected', body),
      ...(decision.status === 'authorized' ? {} : { review: reviewed(decision, 'withdrawn', null) }),
    }),
  },
  correct: {
    from: ['confirmed', 'rejected'],
    to: (_kept, body) => settled(body.result as 'confirmed' | 'rejected', body, true),
  },
  approve: {
    from: ['awaiting_review'],
    to: ({ decision }, body) => ({ status: 'approved', review: reviewed(decision, 'approved', body.comment) }),
  },
  decline: {
    from: ['awaiting_review', 'approved'],
    to: ({ decision }, body) => ({ status: 'declined', review: reviewed(decision, 'declined', body.comment) }),
  },
  claim: { from: ['approved', 'authorized'], to: () => ({ status: 'authorized' }) },
}

/** `effectOf` decides what is asked for; by default it is a review. */
export function startStubLifecycle(effectOf: (asked: DecisionRequest) => Effect = () => 'review'): StubLifecycle {
  const all = new Map<string, Kept>()

  const kept = (id: string): Kept => {
    const found = all.get(id)
    if (found === undefined) throw new Error(`there is no decision ${id}`)
    return found
  }
  const change = (one: Kept, change: Partial<Decision>): void => {
    one.decision = { ...one.decision, ...change }
    for (const wake of one.waiting) wake()
  }

  const ask = (asked: DecisionRequest): Decision => {
    const effect = effectOf(asked)
    const id = newDecisionId()
    const made = decisionAbout({ agent_id: asked.agent_id, action: asked.action, resource: asked.resource ?? null })
    const decision: Decision = { ...made, id, effect, status: STATUS_OF[effect] }
    const review = effect === 'review' ? reviewed(decision, 'waiting', null) : null
    all.set(id, { decision: { ...decision, review }, holder: null, waiting: new Set() })
    return shown(kept(id))
  }

  const transition = (one: Kept, name: string, body: Body): StubAnswer => {
    const { from, to } = TRANSITIONS[name] as Transition
    const { decision } = one
    if (name === 'claim') {
      const holder = String(body.holder)
      if (one.holder !== null && one.holder !== holder) return answerProblem(409, 'already_claimed')
      if (decision.effect === 'review' && from.includes(decision.status)) one.holder = holder
    }
    const isClaimOfAllowed = name === 'claim' && decision.effect !== 'review'
    if (!from.includes(decision.status) || isClaimOfAllowed) {
      return answerJson(409, { code: 'invalid_transition', current_status: decision.status })
    }
    change(one, to(one, body))
    return answerJson(200, shown(one))
  }

  return {
    answer(request, response) {
      const { pathname, searchParams } = new URL(request.url, 'http://stub')
      const [, id = '', name = ''] = /^\/v1\/decisions(?:\/([^/]+)(?:\/([^/]+))?)?$/.exec(pathname) ?? []
      const one = all.get(id)
      const reply = (answer: StubAnswer): void => answer(request, response)
      if (pathname === '/v1/decisions' && request.method === 'POST') return reply(answerJson(200, ask(bodyOf(request))))
      if (one === undefined) return reply(answerProblem(404, 'not_found'))
      if (request.method === 'POST' && Object.hasOwn(TRANSITIONS, name))
        return reply(transition(one, name, bodyOf(request)))
      if (request.method !== 'GET' || name !== '') return reply(answerProblem(404, 'not_found'))
      const waitMs = Number(searchParams.get('wait') ?? 0) * 1000
      whenReviewed(one, waitMs, response, () => reply(answerJson(200, shown(one))))
    },
    change: (id, changed) => change(kept(id), changed),
    ids: () => [...all.keys()],
    waitingCount: () => [...all.values()].reduce((count, { waiting }) => count + waiting.size, 0),
  }
}

/** Calls `reply` once the decision awaits no review any more or the time is over, and not when the client has gone. */
function whenReviewed(one: Kept, waitMs: number, response: ServerResponse, reply: () => void): void {
  const look = (): void => {
    if (one.decision.status === 'awaiting_review') return
    stop()
    reply()
  }
  const stop = (): void => {
    clearTimeout(timer)
    one.waiting.delete(look)
  }
  const timer = setTimeout(() => {
    stop()
    reply()
  }, waitMs)
  one.waiting.add(look)
  response.on('close', stop)
  look()
}

function shown({ decision }: Kept): Decision {
  const { permit_token, ...rest } = decision
  return decision.status === 'authorized' && permit_token !== undefined ? { ...rest, permit_token } : rest
}

function settled(result: 'confirmed' | 'rejected', body: Body, corrected = false): Partial<Decision> {
  const amount = result === 'confirmed' ? ((body.amount as number | undefined) ?? null) : null
  const note = ((body.note ?? body.reason) as string | undefined) ?? null
  const at = new Date().toISOString()
  return { status: result, outcome: { result, amount, note, at, late: false, overage: false, corrected } }
}

function reviewed({ evaluated_at, expires_at }: Decision, status: Review['status'], comment: unknown): Review {
  const isByPerson = status === 'approved' || status === 'declined'
  return {
    status,
    requested_at: evaluated_at,
    expires_at,
    decided_by: isByPerson ? 'key_01kagx3v5ne8sr6w1y6gqk4t2h' : null,
    decided_at: isByPerson ? new Date().toISOString() : null,
    comment: typeof comment === 'string' ? comment : null,
    self_approved: isByPerson ? false : null,
    policy_id: null,
    policy_revision: null,
    rule: null,
  }
}

function bodyOf<Sent>({ body }: ReceivedRequest): Sent {
  return JSON.parse(body) as Sent
}
