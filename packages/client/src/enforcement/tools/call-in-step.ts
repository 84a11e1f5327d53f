/** A call of a framework that runs a step again from its beginning, as LangGraph does after the answer to an interrupt. */
import { ofProcess } from '../../of-process.js'
import { hashOfText } from '../../sha256.js'
import { textOfData } from '../arguments/data-text.js'
import type { GuardRequest } from '../asking/asked.js'

/** The step of a framework that a call is part of. */
export interface CallStep {
  /** Plain data that names this call: the same after a pause and a restart, and of no call of another thread, user or step. */
  readonly names: readonly unknown[]
  /** A new object for each run of the step: two calls within one run are different calls, even with equal names and arguments. */
  readonly run?: unknown
  /** Keeps results by the key of their call, for a step that makes all of its calls again. Both functions may throw. */
  readonly results?:
    | {
        write(key: string, ended: EndedCall): Promise<void>
        read(key: string): Promise<EndedCall | undefined>
      }
    | undefined
}

/** How a call ended, in a form that a framework can store. */
export type EndedCall =
  | { readonly value: unknown }
  | { readonly thrown: { readonly name: string; readonly message: string } }

/** What one run of a step knows about one of its calls. */
interface CallOfRun {
  /** How often the call was asked about, by its question. */
  readonly turns: Map<string, number>
  /** The decision for which it interrupted the run. */
  interruptedFor: string | null
}

const callsOfRuns = ofProcess('step-runs.1', () => new WeakMap<object, Map<string, CallOfRun>>())

export class CallInStep {
  /** The same key when the step runs again. A repeat of the call within one run has another key. */
  readonly key: string
  /** The decision for which it interrupted this same run: code around the guard treats the interrupt as an error. */
  readonly swallowed: string | null
  readonly #results: CallStep['results']
  readonly #ofRun: CallOfRun

  constructor({ names, run, results }: CallStep, { agent_id, action, resource }: GuardRequest, variant: string) {
    const named = textOfData([...names, agent_id, action, resource, variant])
    // A guard around this one may ask another question about the same call.
    this.#ofRun = callOfRun(run, textOfData([...names, variant]))
    const { turns, interruptedFor } = this.#ofRun
    const turn = turns.get(named) ?? 0
    this.swallowed = interruptedFor
    this.#ofRun.interruptedFor = null
    this.key = hashOfText(`${turn} ${named}`)
    // A call that is denied as swallowed asks nothing.
    if (interruptedFor === null) turns.set(named, turn + 1)
    this.#results = results
  }

  interruptFor(decision_id: string): void {
    this.#ofRun.interruptedFor = decision_id
  }

  /** @param ended is called only if results are kept; what it throws is ignored */
  async keep(ended: () => EndedCall): Promise<void> {
    try {
      await this.#results?.write(this.key, ended())
    } catch {
      // The call has run all the same, and is refused when the step makes it again.
    }
  }

  async kept(): Promise<EndedCall | undefined> {
    try {
      return await this.#results?.read(this.key)
    } catch {
      return undefined
    }
  }
}

function callOfRun(run: unknown, named: string): CallOfRun {
  const first: CallOfRun = { turns: new Map(), interruptedFor: null }
  if (typeof run !== 'object' || run === null) return first
  const calls = callsOfRuns.get(run) ?? new Map<string, CallOfRun>()
  const call = calls.get(named) ?? first
  callsOfRuns.set(run, calls.set(named, call))
  return call
}
