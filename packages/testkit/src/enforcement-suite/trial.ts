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

type Call = Pick<GuardedCall, 'action'> & Partial<GuardedCall>

export const RECEIPT = { receipt: 'R-7' }

/** One case under way: its own relay, agent and actions, and all that it opened. */
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

  private constructor({ adapter, point, patienceMs, apiKey }: TrialSetup, relay: Relay) {
    this.#adapter = adapter
    this.#name = crypto.randomUUID().slice(0, 8)
    this.relay = relay
    this.operator = new Operator(point)
    this.patienceMs = patienceMs
    this.apiKey = apiKey
    this.agent_id = `agent:${this.#name}`
  }

  /** Runs a case to its end, and closes whatever it has opened. */
  static async run({ run }: EnforcementCase, setup: TrialSetup): Promise<void> {
    const trial = new Trial(setup, await startRelay(setup.point.url))
    try {
      await run(trial)
    } finally {
      await trial.#close()
    }
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
      act: (given) => {
        this.runs.push(given)
        return act(given)
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

  async expectStatus(id: string, status: DecisionStatus): Promise<void> {
    await this.until(async () => expect((await this.operator.decision(id)).status).toBe(status))
  }

  /** What came over the relay beside questions and looking: claims, confirmations and rejections. */
  get told(): readonly string[] {
    return this.relay.moves.filter((move) => move !== 'ask' && move !== 'look')
  }

  /** Looks again and again, until it finds what it expects or patience is at its end. */
  async until(look: () => unknown): Promise<void> {
    await vi.waitFor(look, { timeout: this.patienceMs, interval: 20 })
  }

  /** Resolves once it was told that a decision is left to expire. */
  async untilLeft(): Promise<void> {
    const left = { type: 'settled', settlement: { settle: 'leave' } }
    await this.until(() => expect(this.events).toContainEqual(expect.objectContaining(left)))
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

  async call(call: Call): Promise<CallOutcome | Late> {
    const calling = this.#opened.call({
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
    return Promise.race([calling, late]).finally(() => clearTimeout(timer))
  }

  /** How many settlements are still open then. */
  flush(timeoutMs: number = this.#trial.patienceMs): Promise<number> {
    return this.#opened.flush(timeoutMs)
  }
}

/** What the caller has got, without what it can read of it. */
export function gist(outcome: CallOutcome | Late): Readonly<Record<string, unknown>> {
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
