import { setTimeout as sleep } from 'node:timers/promises'
import { leaveOrder, readAnswer, withdrawOrder } from '../adapters/operator-inbox/orders.js'
import type { OperatorOrder, OrderAnswer } from '../ports/operator-order.js'

const POLL_MS = 50

/** Has a running server carry an order out. Null when none answered in time: the order is taken back. */
export async function orderFromServer(
  dataDir: string,
  order: OperatorOrder,
  waitMs: number,
): Promise<OrderAnswer | null> {
  const path = await leaveOrder(dataDir, order)
  const end = performance.now() + waitMs
  while ((await readAnswer(path)) === null && performance.now() < end) await sleep(POLL_MS)
  return withdrawOrder(path)
}
