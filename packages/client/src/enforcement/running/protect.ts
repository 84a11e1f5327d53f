import { knownOptions } from '../../known-options.js'
import type { CallSignal } from '../../options.js'
import type { JsonObject } from '../../wire.js'
import { textOfData } from '../arguments/data-text.js'
import { argumentHolder, type HeldArguments } from '../arguments/held-arguments.js'
import { heldOrRefused } from '../arguments/held-data.js'
import type { GuardRequest } from '../asking/asked.js'
import type { Asking } from '../asking/question.js'
import { atOnce } from '../at-once.js'
import { noteFaultPlace } from '../reporting/operator-faults.js'
import type { Admission } from './admission.js'

/** A value, or a function of the arguments that returns it. */
export type FromArguments<Args extends readonly unknown[], Value> = Value | ((...args: Args) => Value)

/**
 * Maps the arguments of a function to a question: by fixed values, or by functions, each with a frozen copy of the arguments.
 * If one of them throws, the call is denied.
 */
export interface ProtectMapping<Args extends readonly unknown[]> {
  /** Without it, the option `unmapped` decides. */
  readonly action?: FromArguments<Args, string> | undefined
  readonly resource?: FromArguments<Args, string | null | undefined> | undefined
  readonly context?: FromArguments<Args, JsonObject | null | undefined> | undefined
  /** Default: the client's `agentId`. */
  readonly agent_id?: FromArguments<Args, string | undefined> | undefined
  /** With the same key and `holder` the function runs at least once, even after a crash; see AdmitOptions. */
  readonly idempotencyKey?: FromArguments<Args, string | undefined> | undefined
  readonly holder?: FromArguments<Args, string | undefined> | undefined
  /** Names the call in every event about it. */
  readonly tag?: FromArguments<Args, string | undefined> | undefined
  /** It gets the unchanged arguments: a signal can only keep an action from running. */
  readonly signal?: ((...args: Args) => CallSignal | undefined) | undefined
  /**
   * For functions with arguments that are not plain data, such as connections and callbacks: the positions of the arguments
   * that the question is about. They are copied, and the functions above see nothing else. All others reach `fn` unchanged.
   */
  readonly bind?: readonly number[] | undefined
}

export const PROTECT_MAPPING = [
  'action',
  'resource',
  'context',
  'agent_id',
  'idempotencyKey',
  'holder',
  'tag',
  'signal',
  'bind',
] as const satisfies readonly (keyof ProtectMapping<[]>)[]

/** The calls of an enforcement point that a protected function needs. */
interface ProtectCalls {
  admitBy(ask: () => Asking, site: object): Promise<Admission>
  run<Result>(admission: Admission, action: () => Result): Promise<Awaited<Result>>
  actionOf(tool: string, mapped: string | undefined): string
}

export function protectFunction<Args extends readonly unknown[], Result>(
  point: ProtectCalls,
  fn: (...args: Args) => Result,
  mapping: ProtectMapping<Args>,
): (...args: Args) => Promise<Awaited<Result>> {
  if (typeof fn !== 'function') throw new TypeError('protect needs a function')
  const kept = knownOptions('protect', mapping, PROTECT_MAPPING)
  const hold = argumentHolder(kept.bind)
  const { name, length } = fn

  async function protectedFunction(this: unknown, ...given: Args): Promise<Awaited<Result>> {
    // Everything before the first wait is synchronous, so the caller cannot change these arguments.
    let held: HeldArguments | undefined
    let signal: CallSignal | undefined
    const admission = await point.admitBy(() => {
      signal = atOnce('signal', kept.signal?.(...given))
      held = heldOrRefused(() => hold(given))
      return askingOf(point, name, kept, held, signal)
    }, fn)
    // In the mode `observe` nothing changes.
    const args = admission.kind === 'permitted' && held ? (held.toRun() as unknown as Args) : given
    return point.run(admission, () => Reflect.apply(fn, this, args))
  }
  return Object.defineProperties(protectedFunction, { name: { value: name }, length: { value: length } })
}

function askingOf<Args extends readonly unknown[]>(
  point: ProtectCalls,
  name: string,
  mapping: ProtectMapping<Args>,
  held: HeldArguments,
  signal: CallSignal | undefined,
): Asking {
  const place = typeof mapping.action === 'string' ? mapping.action : name
  const read = <Value>(
    member: keyof ProtectMapping<Args>,
    from: FromArguments<Args, Value> | undefined,
  ): Value | undefined => {
    if (typeof from !== 'function') return from
    try {
      return atOnce(member, (from as (...args: unknown[]) => Value)(...held.toMap()))
    } catch (error) {
      noteFaultPlace(error, `${place} ${member}`)
      throw error
    }
  }
  const request: GuardRequest = {
    agent_id: read('agent_id', mapping.agent_id),
    action: point.actionOf(name, read('action', mapping.action)),
    resource: read('resource', mapping.resource),
    context: read('context', mapping.context),
  }
  noteFaultPlace(request, place)
  const idempotencyKey = read('idempotencyKey', mapping.idempotencyKey)
  const [holder, tag] = [read('holder', mapping.holder), read('tag', mapping.tag)]
  // An approval is also for the arguments that the question leaves out.
  const variant = idempotencyKey === undefined ? textOfData(held.toMap()) : undefined
  return { request: () => request, options: { signal, idempotencyKey, holder, variant, tag } }
}
