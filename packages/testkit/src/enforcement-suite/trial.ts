import type { Decision, DecisionStatus, Effect, JsonObject } from '@countersign/contract'
import { expect, vi } from 'vitest'
import type {
  Act,
  CallOutcome,
  EnforcementAdapter,
  Given,
  GuardedCall,
  GuardSetupOptions,
  OpenedGuard,
  SeenEvent,
} from './adapter.js'
import { Operator, type RealDecisionPoint } from './operator.js'
import { type Relay, startRelay } from './relay.js'

/** What every integration has to keep. */
export interface EnforcementCase {
  /** States what is guaranteed. */
  readonly title: string
  /** There are frameworks that cannot express it: their adapters say so, with the reason. */
  readonly isOptional?: true
  run(trial: Trial): Promise<void>
}

export interface TrialSetup {
  readonly adapter: EnforcementAdapter
  readonly point: RealDecisionPoint
  /** Of the enforcement point. */
  readonly apiKey: string
  /** How long what has to happen is waited for, in milliseconds. */
  readonly patienceMs: number
}

/** Options of one opened guard, and what its action does. */
interface Opening {
  readonly options?: Omit<GuardSetupOptions, 'onEvent'>
  readonly act?: Act
}

interface LeavingCaller {
  /** Of its calls. */
  readonly members: Pick<GuardedCall, 'onLeft'> & { readonly signal: AbortSignal }
  /** Resolves once the framework has noticed. */
  leave(): Promise<void>
}

/** The caller has waited longer than anybody would. */
interface Late {
  readonly kind: 'late'
}

/** What a call has come to. */
export type Outcome = CallOutcome | Late

/** How a case ended. */
export interface Tried {
  /** What it failed with; null when it passed. */
  readonly failure: unknown
  /** Something was waited for in vain, so that another machine or a longer time might have shown something else. */
  readonly isOutOfPatience: boolean
}

type Call = Pick<GuardedCall, 'action'> & Partial<GuardedCall>

export const RECEIPT = { receipt: 'R-7' }

/** What no decision leaves again. */
const FINAL_STATUSES: readonly DecisionStatus[] = ['confirmed', 'rejected', 'denied', 'declined', 'expired']

/** One case in progress: its own relay, agent and actions, and all that it opened. */
export class Trial {
  readonly relay: Relay
  readonly operator: Operator
  readonly patienceMs: number
  readonly agent_id: string
  readonly apiKey: string
  /** What ran, and with what, in the order in which it began. */
  readonly runs: Given[] = []
  /** Everything that was told to `onEvent`. */
  readonly events: SeenEvent[] = []
  readonly #adapter: EnforcementAdapter
  readonly #name: string
  readonly #opened: OpenedGuard[] = []
  #isOutOfPatience = false

  private constructor({ adapter, point, patienceMs, apiKey }: TrialSetup, relay: Relay) {
    this.#adapter = adapter
    this.#name = crypto.randomUUID().slice(0, 8)
    this.relay = relay
    this.operator = new Operator(point)
    this.patienceMs = patienceMs
    this.apiKey = apiKey
    this.agent_id = `agent:${this.#name}`
  }

  /** Runs a case to its end, and rejects as it fails. */
  static async run(one: EnforcementCase, setup: TrialSetup): Promise<void> {
    const { failure } = await Trial.try(one, setup)
    if (failure !== null) throw failure
  }

  /** Runs a case to its end, and closes whatever it has opened. */
  static async try({ run }: EnforcementCase, setup: TrialSetup): Promise<Tried> {
    const trial = new Trial(setup, await startRelay(setup.point.url))
    const failure = await run(trial).then(
      () => null,
      (error: unknown) => error ?? new Error('the case rejected with nothing'),
    )
    await trial.#close()
    return { failure, isOutOfPatience: trial.#isOutOfPatience }
  }

  /** The name of an action that is decided so from now on; without an effect no policy is about it. */
  async actionWith(effect?: Effect): Promise<string> {
    const action = `try-${this.#name}.${effect ?? 'unknown'}`
    if (effect !== undefined) await this.operator.makePolicy(action, effect)
    return action
  }

  /** An allowed action that a budget pays for. */
  async actionWithBudget(budget: JsonObject): Promise<{ readonly action: string; readonly policyId: string }> {
    const action = `try-${this.#name}.pay`
    const { id } = await this.operator.makePolicy(action, 'allow', { period: 'total', ...budget })
    return { action, policyId: id }
  }

  /** A guard of an action that gives back RECEIPT, unless told otherwise. */
  async open({ options = {}, act = async () => ({ value: RECEIPT }) }: Opening = {}): Promise<TriedGuard> {
    const opened = await this.#adapter.open({
      baseUrl: this.relay.url,
      apiKey: this.apiKey,
      options: {
        timeoutMs: this.patienceMs,
        settleTimeoutMs: this.patienceMs,
        ...options,
        onEvent: (event) => void this.events.push(event),
      },
      act: (given, pause) => {
        this.runs.push(given)
        return act(given, pause)
      },
    })
    this.#opened.push(opened)
    return new TriedGuard(this, opened)
  }

  /** A caller that can leave. */
  caller(): LeavingCaller {
    const leaving = new AbortController()
    let isLeft = false
    const onLeft = (): void => {
      isLeft = true
    }
    return {
      members: { signal: leaving.signal, onLeft },
      leave: async () => {
        leaving.abort()
        await this.until(() => expect(isLeft).toBe(true))
      },
    }
  }

  /** The one decision that was asked for so far. */
  get decision(): Decision {
    expect(this.relay.decisions).toHaveLength(1)
    return this.relay.decisions[0] as Decision
  }

  /** Fails as soon as it cannot become so any more. */
  async expectStatus(id: string, status: DecisionStatus): Promise<void> {
    let found: DecisionStatus | undefined
    await this.until(async () => {
      found = (await this.operator.decision(id)).status
      expect([status, ...FINAL_STATUSES]).toContain(found)
    })
    expect(found).toBe(status)
    await this.#acknowledged()
  }

  /** That this was done with a decision, and nothing else; fails as soon as something else was. */
  async expectDone(id: string, calls: readonly string[]): Promise<void> {
    let done: readonly string[] = []
    await this.until(async () => {
      done = await this.operator.told(id)
      expect(done.length).toBeGreaterThanOrEqual(calls.length)
    })
    expect(done).toEqual(calls)
    await this.#acknowledged()
  }

  /** Some settle behind their caller's back; and what is seen before it is acknowledged may not be in the accounts yet. */
  async #acknowledged(): Promise<void> {
    for (const opened of this.#opened) await opened.flush(this.patienceMs)
  }

  /** What came over the relay beside questions and looking: claims, redeems, confirmations and rejections. */
  get told(): readonly string[] {
    return this.relay.calls.filter((call) => call !== 'ask' && call !== 'look')
  }

  /** Looks again and again, until it finds what it expects or patience is at its end. */
  async until(look: () => unknown): Promise<void> {
    await vi.waitFor(look, { timeout: this.patienceMs, interval: 20 }).catch((error: unknown) => {
      this.outOfPatience()
      throw error
    })
  }

  /** Resolves once it was told that a decision is left to expire; fails as soon as something else is told. */
  async untilLeft(): Promise<void> {
    const settled = (): readonly SeenEvent[] => this.events.filter(({ type }) => type === 'settled')
    await this.until(() => expect(settled()).not.toEqual([]))
    expect(settled()).toMatchObject([{ settlement: { settle: 'leave' } }])
  }

  /** Something was waited for in vain. */
  outOfPatience(): void {
    this.#isOutOfPatience = true
  }

  async #close(): Promise<void> {
    for (const opened of this.#opened) await opened.close()
    await this.relay.close()
  }
}

/** The guard of the adapter, called in the name of the trial's agent. */
export class TriedGuard {
  readonly #trial: Trial
  readonly #opened: OpenedGuard

  constructor(trial: Trial, opened: OpenedGuard) {
    this.#trial = trial
    this.#opened = opened
  }

  call(call: Call): Promise<Outcome> {
    return this.#outcome((calling) => this.#opened.call(calling), call)
  }

  async read(call: Call): Promise<Outcome> {
    expect(this.#opened.read, 'a way to read what is no action').toBeDefined()
    return this.#outcome(async (reading) => this.#opened.read?.(reading) ?? { kind: 'aborted' }, call)
  }

  async #outcome(guarded: (call: GuardedCall) => Promise<CallOutcome>, call: Call): Promise<Outcome> {
    const calling = guarded({
      agent_id: this.#trial.agent_id,
      resource: 'order:8812',
      context: { to: 'account:1', amount: 40 },
      mapping: 'sound',
      onArguments: () => undefined,
      onLeft: () => undefined,
      ...call,
    })
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<Late>((resolve) => {
      timer = setTimeout(() => resolve({ kind: 'late' }), this.#trial.patienceMs)
    })
    const outcome = await Promise.race([calling, late]).finally(() => clearTimeout(timer))
    if (outcome.kind === 'late') this.#trial.outOfPatience()
    return outcome
  }

  /** How many settlements are still open then. */
  flush(timeoutMs: number = this.#trial.patienceMs): Promise<number> {
    return this.#opened.flush(timeoutMs)
  }

  /** Waits until everything is told. */
  async expectFlushed(): Promise<void> {
    const openCount = await this.flush()
    if (openCount > 0) this.#trial.outOfPatience()
    expect(openCount).toBe(0)
  }
}

/** What the caller has got, without what it can read of it. */
export function gist(outcome: Outcome): Readonly<Record<string, unknown>> {
  const { shown: _shown, ...rest } = { shown: '', ...outcome }
  return rest
}

/** A promise that a case settles. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}
