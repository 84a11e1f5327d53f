import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { OperatorOrder, OrderAnswer } from '../../ports/operator-order.js'
import {
  answerOrder,
  leaveOrder,
  readAnswer,
  readOrder,
  UnsafeInboxError,
  waitingOrders,
  withdrawOrder,
} from './orders.js'
import { type InboxWatch, watchInbox } from './watch.js'

const ORDER: OperatorOrder = {
  key: { name: 'operator', scopes: ['*'], agents: null, expires_at: null },
  secret: { hash: 'h'.repeat(43), hint: 'cs_sk_…9fQ2', expires_at: null },
}
const DONE: OrderAnswer = { done: true }

let dataDir: string
let inbox: string
let stop: () => void
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'countersign-inbox-'))
  inbox = join(dataDir, 'operator-inbox')
  stop = () => {}
})
afterEach(async () => {
  vi.restoreAllMocks()
  stop()
  await rm(dataDir, { recursive: true })
})

const names = async () => (await readdir(inbox)).sort()

/** Puts a file into the inbox, by other means than the command line. */
async function put(name: string, text: string): Promise<string> {
  await mkdir(inbox, { recursive: true, mode: 0o700 })
  await writeFile(join(inbox, name), text)
  return join(inbox, name)
}

async function age(path: string): Promise<void> {
  const old = new Date(Date.now() - 61_000)
  await utimes(path, old, old)
}

/** Watches until `count` calls of `carryOut` and `onError` have come, and two looks more. */
async function watched(count: number, carryOut: InboxWatch['carryOut'] = async () => DONE) {
  const orders: OperatorOrder[] = []
  const errors: Error[] = []
  await new Promise<void>((resolve) => {
    const check = () => {
      if (orders.length + errors.length >= count) resolve()
    }
    stop = watchInbox({
      dataDir,
      intervalMs: 5,
      carryOut: async (order) => {
        orders.push(order)
        check()
        return carryOut(order)
      },
      onError: (error) => {
        errors.push(error as Error)
        check()
      },
    })
  })
  return { orders, errors }
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve))
}

/** Until every order is answered: nothing is written into the inbox any more. */
const settled = () => until(async () => (await waitingOrders(dataDir)).length === 0)

describe('an order', () => {
  it('is left whole, for its owner alone, and read as it was left', async () => {
    const umask = process.umask(0)
    try {
      const path = await leaveOrder(dataDir, ORDER)
      expect(await waitingOrders(dataDir)).toEqual([path])
      expect([(await stat(inbox)).mode & 0o777, (await stat(path)).mode & 0o777]).toEqual([0o700, 0o600])
      expect(await readOrder(path)).toEqual(ORDER)
      expect(await readAnswer(path)).toBeNull()
    } finally {
      process.umask(umask)
    }
  })

  it('to believe the clock is read as it was left', async () => {
    expect(await readOrder(await leaveOrder(dataDir, { clock: 'confirm' }))).toEqual({ clock: 'confirm' })
  })

  it.each([DONE, { refused: 'expires_at has to be ahead.' }])('is answered: %o', async (answer) => {
    const path = await leaveOrder(dataDir, ORDER)
    await answerOrder(path, answer)
    expect(await waitingOrders(dataDir)).toEqual([])
    expect(await readAnswer(path)).toEqual(answer)
    expect(await withdrawOrder(path)).toEqual(answer)
    expect(await names()).toEqual([])
  })

  it('that was taken back is nobody’s any more', async () => {
    const path = await leaveOrder(dataDir, ORDER)
    expect(await withdrawOrder(path)).toBeNull()
    expect(await waitingOrders(dataDir)).toEqual([])
    expect(await readOrder(path)).toBeNull()
    expect(await names()).toEqual([])
  })

  it('is not answered because it is gone', async () => {
    const path = await leaveOrder(dataDir, ORDER)
    await rm(path)
    expect(await readAnswer(path)).toBeNull()
    expect(await withdrawOrder(path)).toBeNull()
  })

  it('is forgotten after a minute, as is all that lies about', async () => {
    await age(await leaveOrder(dataDir, ORDER))
    const answered = await leaveOrder(dataDir, ORDER)
    await answerOrder(answered, DONE)
    await age(`${answered}.answer`)
    await age(await put('half-written.json.1.tmp', '{'))
    const fresh = await leaveOrder(dataDir, ORDER)
    expect(await waitingOrders(dataDir)).toEqual([fresh])
    expect(await readdir(inbox)).toEqual([fresh.split('/').at(-1)])
  })
})

describe('an inbox that others can write into', () => {
  it.each([0o720, 0o702, 0o777])('is neither read nor used, mode %o', async (mode) => {
    await leaveOrder(dataDir, ORDER)
    await chmod(inbox, mode)
    await expect(waitingOrders(dataDir)).rejects.toThrow(UnsafeInboxError)
    await expect(waitingOrders(dataDir)).rejects.toThrow(`chmod 700 ${inbox}`)
    await expect(leaveOrder(dataDir, ORDER)).rejects.toThrow(UnsafeInboxError)
    expect(await names()).toHaveLength(1)
  })

  it('by a link to another folder is neither', async () => {
    const elsewhere = await mkdtemp(join(tmpdir(), 'countersign-inbox-'))
    await symlink(elsewhere, inbox)
    await expect(waitingOrders(dataDir)).rejects.toThrow(UnsafeInboxError)
    await expect(leaveOrder(dataDir, ORDER)).rejects.toThrow(UnsafeInboxError)
    await rm(elsewhere, { recursive: true })
  })

  it('because it is theirs is neither, and an order of theirs is none', async () => {
    const path = await leaveOrder(dataDir, ORDER)
    vi.spyOn(process, 'getuid').mockReturnValue((await stat(path)).uid + 1)
    await expect(waitingOrders(dataDir)).rejects.toThrow(UnsafeInboxError)
    await expect(leaveOrder(dataDir, ORDER)).rejects.toThrow(UnsafeInboxError)
    await expect(readOrder(path)).rejects.toThrow('belongs to the user')
  })

  it('is told once, and orders are carried out again when it is closed to them', async () => {
    await leaveOrder(dataDir, ORDER)
    await chmod(inbox, 0o777)
    const { orders, errors } = await watched(1)
    expect(errors).toEqual([expect.any(UnsafeInboxError)])
    await chmod(inbox, 0o700)
    await settled()
    expect(orders).toEqual([ORDER])
    expect(errors).toHaveLength(1)
  })
})

describe('the watch', () => {
  it('carries an order out once, and answers it', async () => {
    const path = await leaveOrder(dataDir, ORDER)
    const { orders, errors } = await watched(1)
    await settled()
    expect({ orders, errors }).toEqual({ orders: [ORDER], errors: [] })
    expect(await readAnswer(path)).toEqual(DONE)
  })

  it('answers a refusal with its reason, and tells it', async () => {
    const path = await leaveOrder(dataDir, ORDER)
    const { errors } = await watched(2, async () => ({ refused: 'It is too late.' }))
    await settled()
    expect(errors.map(({ message }) => message)).toEqual(['It is too late.'])
    expect(await readAnswer(path)).toEqual({ refused: 'It is too late.' })
    expect(await waitingOrders(dataDir)).toEqual([])
  })

  it('carries an order out again that a crash left without an answer', async () => {
    const path = await leaveOrder(dataDir, ORDER)
    const crashed = await watched(1, () => new Promise(() => {}))
    stop()
    const { orders } = await watched(1)
    await settled()
    expect(await readAnswer(path)).toEqual(DONE)
    expect([crashed.orders, orders]).toEqual([[ORDER], [ORDER]])
  })

  it('keeps an order that has to wait, and tells why once', async () => {
    const path = await leaveOrder(dataDir, ORDER)
    let attempts = 0
    const { errors } = await watched(5, async () => {
      attempts += 1
      if (attempts < 5) throw new Error(`attempt ${attempts}`)
      return DONE
    })
    await settled()
    expect(errors).toEqual([new Error('attempt 1')])
    expect(await readAnswer(path)).toEqual(DONE)
  })

  it('throws away what is no order, tells it once, and carries out the ones behind it', async () => {
    const text = JSON.stringify(ORDER)
    const rubbish = [
      text.slice(0, -9),
      '',
      'null',
      JSON.stringify({ ...ORDER, more: 1 }),
      `${text}${' '.repeat(70_000)}`,
    ]
    for (const [i, one] of rubbish.entries()) await put(`000${i}.json`, one)
    await symlink(await put('kept', text), join(inbox, '0009.json'))
    const path = await leaveOrder(dataDir, ORDER)
    const { orders, errors } = await watched(7)
    await settled()
    expect(orders).toEqual([ORDER])
    expect(errors).toHaveLength(6)
    for (const { message } of errors) expect(message).toMatch(/no order/)
    expect(await names()).toEqual([`${path.split('/').at(-1)}.answer`, 'kept'])
    expect(await readFile(join(inbox, 'kept'), 'utf8')).toBe(text)
  })

  it('waits for an inbox that is not there yet', async () => {
    const watching = watched(1)
    await leaveOrder(dataDir, ORDER)
    expect((await watching).orders).toEqual([ORDER])
    await settled()
  })
})
