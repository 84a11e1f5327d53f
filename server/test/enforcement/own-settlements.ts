/** An integration that admits, begins and settles by itself, as frameworks need it whose actions may never end. */
import type { Settle } from '@countersign/client'
import { isOutcomeUnknown } from '@countersign/client/kernel'
import type { JsonObject } from '@countersign/contract'
import type { Done } from '@countersign/testkit/enforcement-suite'
import { givenOf, type PlainWay, plainAdapter, questionOf } from './plain-functions.js'

/** How long an action may go on after its caller has left. */
const GRACE_MS = 1_000

export const ownSettlementWay: PlainWay = async ({ client, options, act, call }) => {
  const { idempotencyKey, holder, signal, mapping } = call
  const point = client.enforcement(options)
  const question = () => {
    if (mapping === 'throws') throw new Error('there is no such order')
    return { ...questionOf(call), action: point.actionOf('pay', mapping === 'unmapped' ? undefined : call.action) }
  }
  const admission = await point.admit(question, { idempotencyKey, holder, signal })
  const { asked, settle } = admission
  admission.begin()
  const given = asked ? { resource: asked.resource ?? '', context: asked.context as JsonObject } : givenOf(call)
  const running = act(given).then(
    (done) => settleDone(settle, done),
    async (error: unknown) => {
      await settle.by({ kind: signal?.aborted || isOutcomeUnknown(error) ? 'unknown' : 'failed', error })
      throw error
    },
  )
  return signal === undefined ? running : Promise.race([running, leaving(signal, settle)])
}

async function settleDone(settle: Settle, { value, amount }: Done): Promise<JsonObject> {
  await settle.by({ kind: 'succeeded', value, amount })
  return value
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

export const ownSettlementAdapter = plainAdapter('client.enforcement', ownSettlementWay)
