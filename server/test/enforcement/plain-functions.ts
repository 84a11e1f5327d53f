/** Plain functions behind `client.guard` and `client.protect`, for the enforcement suite. */
import { inspect } from 'node:util'
import { Countersign, DeniedError, type EnforcementOptions, type GuardRequest } from '@countersign/client'
import { reviewerWords } from '@countersign/client/text'
import type { JsonObject } from '@countersign/contract'
import type {
  Act,
  CallOutcome,
  Done,
  EnforcementAdapter,
  Given,
  GuardedCall,
} from '@countersign/testkit/enforcement-suite'

/** One call of a guarded function. */
export interface PlainCall {
  readonly client: Countersign
  readonly options: EnforcementOptions
  readonly act: Act
  readonly call: GuardedCall
}

/** Calls it, and resolves with its value, or rejects with what the caller is given in place of one. */
export type PlainWay = (calling: PlainCall) => Promise<unknown>

/** Of machines with a lot else to do. */
const PATIENT_MS = 15_000

const NO_RESOURCES = {
  'gives an agent a gated resource only if the policies allow its reading, once, and settles that':
    'there is nothing to read beside functions',
}

export function plainAdapter(
  name: string,
  way: PlainWay,
  doesNotApply: EnforcementAdapter['doesNotApply'] = {},
): EnforcementAdapter {
  return {
    name,
    doesNotApply: { ...NO_RESOURCES, ...doesNotApply },
    open({ baseUrl, apiKey, options, act }) {
      const client = new Countersign({ baseUrl, apiKey, timeoutMs: PATIENT_MS, connectTimeoutMs: PATIENT_MS })
      return {
        call(call) {
          call.onArguments(call.context as Record<string, unknown>)
          call.signal?.addEventListener('abort', call.onLeft)
          return outcomeOf(way({ client, options, act, call }), call)
        },
        flush: (timeoutMs) => client.flush({ timeoutMs }),
        close: () => client.close(),
      }
    },
  }
}

const NO_PAUSE = 'a plain function runs to its end'
const BY_ERRORS = 'a plain function fails by an error; what else is none, settleOn says'
const DOES_NOT_APPLY = {
  'tells a model what the person wrote who approved, as a quotation that the words cannot leave':
    'a plain function has no model; its run has the decision with the review',
  'runs what pauses itself twice to its end once, by one decision, and settles it by its end alone': NO_PAUSE,
  'rejects what gave back a value that says by isError that it failed, and gives it to the caller': BY_ERRORS,
  'rejects what gave back a value that says by its status that it failed, and gives it to the caller': BY_ERRORS,
  'leaves open what never ends after its caller has left': 'a function that never ends has no result to settle by',
}

export const guardWay: PlainWay = ({ client, options, act, call }) => {
  const { idempotencyKey, holder, signal } = call
  return client.guard(
    questionOf(call),
    async ({ resource, context }, run) => {
      const { value, amount } = await act({ resource: resource ?? '', context: context as JsonObject })
      if (amount !== undefined) run.setAmount(amount)
      return value
    },
    { ...options, idempotencyKey, holder, signal },
  )
}

/** As an integration with models does it: what the reviewer wrote stands beside the result. */
const quotingWay: PlainWay = ({ client, options, act, call }) =>
  client.guard(
    questionOf(call),
    async (_asked, { decision }) => {
      const { value } = await act(givenOf(call))
      return { ...value, words: reviewerWords(decision?.review?.comment) }
    },
    options,
  )

export const quotingAdapter = plainAdapter('client.guard with the words of the reviewer', quotingWay)

export const guardAdapter = plainAdapter('client.guard', guardWay, {
  ...DOES_NOT_APPLY,
  'runs and sends nothing when what maps the call to a question throws': 'it is given the question itself',
  'runs and sends nothing when nobody says which action it is': 'it is given the question itself',
  'in the mode observe runs also what cannot be mapped to a question': 'it is given the question itself',
})

export const protectWay: PlainWay = async ({ client, options, act, call }) => {
  const { agent_id, idempotencyKey, holder, signal, mapping } = call
  const costs = new WeakMap<object, number | undefined>()
  const pay = async (resource: string, context: JsonObject): Promise<Done['value']> => {
    const { value, amount } = await act({ resource, context })
    costs.set(value, amount)
    return value
  }
  const settleOn: EnforcementOptions['settleOn'] = (outcome) => {
    const said = options.settleOn?.(outcome)
    if (said !== undefined || outcome.kind !== 'succeeded') return said
    return { settle: 'confirm', amount: costs.get(outcome.value as object) }
  }
  const actionOf = (): string => {
    if (mapping === 'throws') throw new Error('there is no such order')
    return call.action
  }
  const protectedPay = client.protect(pay, {
    ...options,
    settleOn,
    ...(mapping === 'unmapped' ? {} : { action: actionOf }),
    resource: (resource, context) => (mapping === 'misspelt' ? `order:${context.orderId}` : resource),
    context: (_resource, context) => context,
    agent_id,
    idempotencyKey,
    holder,
    signal: () => signal,
  })
  return protectedPay(call.resource, call.context)
}

export const protectAdapter = plainAdapter('client.protect', protectWay, DOES_NOT_APPLY)

/** What an action interrupts itself by. */
export class Interrupted extends Error {}

/** The arguments as the caller gave them. */
export function givenOf({ resource, context }: GuardedCall): Given {
  return { resource, context }
}

export function questionOf({ agent_id, action, resource, context, mapping }: GuardedCall): GuardRequest {
  return { agent_id, action, resource: mapping === 'misspelt' ? `order:${context.orderId}` : resource, context }
}

async function outcomeOf(calling: Promise<unknown>, { signal }: GuardedCall): Promise<CallOutcome> {
  try {
    const value = await calling
    return { kind: 'value', value, shown: pictureOf(value) }
  } catch (error) {
    if (DeniedError.isInstance(error)) {
      const { reason, decision_id, cause: _ofTheOperator, ...members } = error
      const shown = `${error.stack} ${error.message} ${pictureOf({ reason, decision_id, ...members })}`
      return { kind: 'denied', reason, decision_id, shown }
    }
    if (signal?.aborted && error === signal.reason) return { kind: 'aborted' }
    if (error instanceof Interrupted) return { kind: 'paused' }
    return { kind: 'failed', error, shown: pictureOf(error) }
  }
}

function pictureOf(value: unknown): string {
  return `${inspect(value, { depth: Number.POSITIVE_INFINITY })} ${JSON.stringify(value)}`
}
