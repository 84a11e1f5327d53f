/** An integration that admits, begins and settles by itself, as frameworks need it whose actions may never end. */
import type { Admission, Settle } from '@countersign/client'
import { isOutcomeUnknown } from '@countersign/client/kernel'
import type { JsonObject } from '@countersign/contract'
import { type Done, type GuardedCall, saysFailure } from '@countersign/testkit/enforcement-suite'
import { givenOf, Interrupted, type PlainCall, type PlainWay, plainAdapter, questionOf } from './plain-functions.js'

/** How long an action may go on after its caller has left. */
const GRACE_MS = 1_000

/** How it treats what pauses and what says that it failed; a sabotage breaks it here. */
interface OwnParts {
  /** What the decision is asked for by. */
  readonly keyOf: (call: GuardedCall) => string | undefined
  readonly onPause: (admission: Admission) => unknown
  readonly isFailure: (value: JsonObject) => boolean
}

const SOUND: OwnParts = {
  keyOf: ({ thread, idempotencyKey }) => thread ?? idempotencyKey,
  onPause: (admission) => admission.pause(),
  isFailure: saysFailure,
}

export function ownSettlements(change: Partial<OwnParts> = {}): PlainWay {
  const parts = { ...SOUND, ...change }
  return (calling) => settlingItself(calling, parts)
}

async function settlingItself({ client, options, act, call }: PlainCall, parts: OwnParts): Promise<unknown> {
  const { thread, holder = thread, signal, mapping } = call
  const point = client.enforcement(options)
  const question = () => {
    if (mapping === 'throws') throw new Error('there is no such order')
    return { ...questionOf(call), action: point.actionOf('pay', mapping === 'unmapped' ? undefined : call.action) }
  }
  const admission = await point.admit(question, { idempotencyKey: parts.keyOf(call), holder, signal })
  const { asked, settle } = admission
  admission.begin()
  const given = asked ? { resource: asked.resource ?? '', context: asked.context as JsonObject } : givenOf(call)
  const running = act(given, pauseIn(thread)).then(
    (done) => settleDone(settle, done, parts),
    async (error: unknown) => {
      if (error instanceof Interrupted) await parts.onPause(admission)
      else await settle.by({ kind: signal?.aborted || isOutcomeUnknown(error) ? 'unknown' : 'failed', error })
      throw error
    },
  )
  return signal === undefined ? running : Promise.race([running, leaving(signal, settle)])
}

async function settleDone(settle: Settle, { value, amount }: Done, { isFailure }: OwnParts): Promise<JsonObject> {
  await settle.by(isFailure(value) ? { kind: 'failed', error: value } : { kind: 'succeeded', value, amount })
  return value
}

/** How many passes there were, by thread. */
const passCounts = new Map<string, number>()

/** For one pass: gets past as many pauses as there were passes before. */
function pauseIn(thread: string | undefined): (() => void) | undefined {
  if (thread === undefined) return undefined
  let leftCount = passCounts.get(thread) ?? 0
  passCounts.set(thread, leftCount + 1)
  return () => {
    if (leftCount === 0) throw new Interrupted()
    leftCount -= 1
  }
}

/** Rejects some time after the caller has left; nobody knows by then how the action ends. */
function leaving(signal: AbortSignal, settle: Settle): Promise<never> {
  return new Promise((_resolve, reject) => {
    const leave = (): void => {
      void settle.by({ kind: 'unknown' })
      reject(signal.reason)
    }
    signal.addEventListener('abort', () => setTimeout(leave, GRACE_MS))
  })
}

export const ownSettlementWay = ownSettlements()
export const ownSettlementAdapter = plainAdapter('client.enforcement', ownSettlementWay, {
  'tells a model what the person wrote who approved, as a quotation that the words cannot leave':
    'a plain function has no model; its admission has the decision with the review',
})
