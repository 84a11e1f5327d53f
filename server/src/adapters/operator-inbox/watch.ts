import type { OperatorOrder, OrderAnswer } from '../../ports/operator-order.js'
import { answerOrder, readOrder, removeOrder, waitingOrders } from './orders.js'

export interface InboxWatch {
  readonly dataDir: string
  /** Rejects when the order has to wait: it comes again with the next look. */
  readonly carryOut: (order: OperatorOrder) => Promise<OrderAnswer>
  /** Gets why an order was refused, thrown away or has to wait, and why the inbox cannot be read: each once. */
  readonly onError: (error: unknown) => void
  /** 500 when absent. */
  readonly intervalMs?: number
}

/**
 * Carries out what lies in the inbox, again and again. Does not keep the process alive.
 *
 * @returns stops watching
 */
export function watchInbox({ dataDir, carryOut, onError, intervalMs = 500 }: InboxWatch): () => void {
  let isBusy = false
  let told: ReadonlySet<string> = new Set()
  const look = async (): Promise<void> => {
    if (isBusy) return
    isBusy = true
    const troubled = new Set<string>()
    const trouble = (what: string, error: unknown): void => {
      troubled.add(what)
      if (!told.has(what)) onError(error)
    }
    try {
      for (const path of await waitingOrders(dataDir))
        await settle(path, carryOut, onError).catch((error: unknown) => trouble(path, error))
    } catch (error) {
      trouble(dataDir, error)
    }
    told = troubled
    isBusy = false
  }
  const timer = setInterval(look, intervalMs).unref()
  return () => clearInterval(timer)
}

async function settle(path: string, carryOut: InboxWatch['carryOut'], onError: InboxWatch['onError']): Promise<void> {
  let order: OperatorOrder | null
  try {
    order = await readOrder(path)
  } catch (cause) {
    await removeOrder(path)
    onError(new Error('It is no order of the operator. It was thrown away.', { cause }))
    return
  }
  if (order === null) return
  const answer = await carryOut(order)
  await answerOrder(path, answer)
  if ('refused' in answer) onError(new Error(answer.refused))
}
