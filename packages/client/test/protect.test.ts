/** Functions that are protected: what is mapped is what runs. */
import { describe, expect, it, vi } from 'vitest'
import type { Countersign, ProtectOptions } from '../src/index.js'
import { asked, deciding, denialOf, listener, told } from './enforcing.js'
import { describeTransports, rejectionOf } from './transports.js'

const { agent_id } = asked

/** What was asked of a stub, without the holder. */
function questions(stub: { readonly requests: readonly { readonly url: string; readonly body: string }[] }) {
  return stub.requests
    .filter(({ url }) => url === '/v1/decisions')
    .map(({ body }) => {
      const { holder: _holder, ...question } = JSON.parse(body)
      return question
    })
}

describeTransports('protect', (rig) => {
  function protect<Args extends readonly unknown[], Result>(
    fn: (...args: Args) => Result,
    options: ProtectOptions<Args>,
    client: Countersign = rig().open(),
  ) {
    return client.protect(fn, { agent_id, ...options })
  }

  it('asks about the arguments and runs with them', async () => {
    deciding(rig(), 'allow')
    const refund = protect(async (orderId: string, { amount }: { amount: number }) => `${orderId}: ${amount}`, {
      action: 'payment.refund',
      resource: (orderId) => `order:${orderId}`,
      context: (_orderId, { amount }) => ({ amount }),
    })
    expect(await refund('8812', { amount: 42.5 })).toBe('8812: 42.5')
    expect(questions(rig().stub)).toEqual([{ ...asked, context: { amount: 42.5 } }])
    expect(told(rig().stub)).toEqual([['confirm', {}]])
  })

  it('takes each part of the mapping as a value or as a function', async () => {
    deciding(rig(), 'allow')
    const client = rig().open()
    const act = client.protect((kind: string) => kind, {
      agent_id: (kind) => `agent:${kind}`,
      action: (kind) => `order.${kind}`,
      resource: 'order:1',
      context: { fixed: true },
      idempotencyKey: (kind) => `key-${kind}`,
      holder: 'run-77',
    })
    expect(await act('read')).toBe('read')
    expect(questions(rig().stub)).toEqual([
      { agent_id: 'agent:read', action: 'order.read', resource: 'order:1', context: { fixed: true } },
    ])
    const [request] = rig().stub.requests
    expect(request?.headers['idempotency-key']).toBe('key-read')
    expect(JSON.parse(request?.body ?? '').holder).toBe('run-77')
  })

  it('keeps name, number of parameters and this', async () => {
    deciding(rig(), 'allow')
    const desk = {
      open: 3,
      async refund(_order: string, amount: number) {
        return this.open + amount
      },
    }
    desk.refund = protect(desk.refund, { action: 'payment.refund' })
    expect([desk.refund.name, desk.refund.length]).toEqual(['refund', 2])
    expect(await desk.refund('a', 4)).toBe(7)
  })

  it('rejects with what the function throws, and with a promise also what it throws at once', async () => {
    deciding(rig(), 'allow')
    const error = new Error('too much')
    const failing = protect(
      (): never => {
        throw error
      },
      { action: 'payment.refund' },
    )
    expect(await rejectionOf(failing())).toBe(error)
    expect(told(rig().stub)).toEqual([['reject', { reason: 'the action failed' }]])
  })

  it.each(['deny', 'review'] as const)('runs nothing on a %s', async (effect) => {
    deciding(rig(), effect)
    const fn = vi.fn()
    await denialOf(protect(fn, { action: 'payment.refund' })())
    expect(fn).not.toHaveBeenCalled()
  })

  it.each<[string, ProtectOptions<[object]>]>([
    [
      'throws',
      {
        action: () => {
          throw new Error('what is this?')
        },
      },
    ],
    ['gives a promise', { action: (async () => 'payment.refund') as never }],
    ['gives a resource that is no text', { action: 'a.b', resource: () => 8812 as never }],
    ['gives a context that is no JSON', { action: 'a.b', context: () => ({ at: new Date() }) as never }],
    [
      'changes what it was given',
      {
        action: (order) => {
          Object.assign(order, { amount: 0 })
          return 'a.b'
        },
      },
    ],
    ['gives a key that is empty', { action: 'a.b', idempotencyKey: () => '' }],
    [
      'fails to say which signal',
      {
        action: 'a.b',
        signal: () => {
          throw new Error('none')
        },
      },
    ],
  ])('sends nothing and runs nothing when what maps %s', async (_how, mapping) => {
    const { stub } = rig()
    const fn = vi.fn((_order: object) => 1)
    const { events, onEvent } = listener()
    const protectedFn = protect(fn, { ...mapping, onEvent })
    const reason = 'mapping_failed'
    expect(await denialOf(protectedFn({ amount: 1 }))).toMatchObject({ reason, decision_id: null })
    expect(fn).not.toHaveBeenCalled()
    expect(events).toMatchObject([{ type: 'denied', reason, asked: null, decision: null }])
    expect(stub.connectionCount()).toBe(0)
  })

  it('denies what nobody mapped to an action, unless its name shall stand for it', async () => {
    const { stub } = rig()
    deciding(rig(), 'allow')
    const client = rig().open({ agentId: agent_id })
    async function send_payment(amount: number) {
      return amount
    }
    const silent = { action: () => undefined as never }
    for (const mapping of [{}, silent]) {
      expect(await denialOf(client.protect(send_payment, mapping)(1))).toMatchObject({ reason: 'unmapped' })
    }
    expect(stub.connectionCount()).toBe(0)
    expect(await client.protect(send_payment, { unmapped: 'map' })(1)).toBe(1)
    expect(questions(stub)).toEqual([{ agent_id, action: 'tool.send_payment' }])
    const nameless = client.protect(
      (
        () => () =>
          1
      )(),
      { unmapped: 'map' },
    )
    expect(await denialOf(nameless())).toMatchObject({ reason: 'unmapped' })
  })

  it.each<[string, () => unknown]>([
    ['a function', () => () => 1],
    ['an instance of a class', () => new URL('http://localhost')],
    ['a Proxy', () => new Proxy({ amount: 1 }, {})],
    [
      'an accessor',
      () => ({
        get amount() {
          return 1
        },
      }),
    ],
    ['a promise', () => Promise.resolve(1)],
    ['shared memory', () => new SharedArrayBuffer(1)],
    ['a hole', () => new Array(2)],
  ])('refuses arguments with %s', async (_what, make) => {
    const { stub } = rig()
    const fn = vi.fn((_given: unknown) => 1)
    const denied = await denialOf(protect(fn, { action: 'payment.refund' })(make()))
    expect(denied).toMatchObject({ reason: 'arguments_refused', cause: expect.any(TypeError) })
    expect(fn).not.toHaveBeenCalled()
    expect(stub.connectionCount()).toBe(0)
  })

  it('takes them where it is said what of them the question is about', async () => {
    deciding(rig(), 'allow')
    const log = vi.fn()
    const refund = protect(
      async (order: { id: string; amount: number }, log: (text: string) => void, bank: URL) => {
        log(`${order.id}: ${order.amount} at ${bank.host}`)
        return Object.isFrozen(order)
      },
      {
        action: 'payment.refund',
        resource: (order) => `order:${order.id}`,
        context: (order, log, bank) => ({ amount: order.amount, seen: [typeof log, typeof bank] }),
        bind: [0],
      },
    )
    const order = { id: '8812', amount: 5 }
    const running = refund(order, log, new URL('http://bank.example'))
    order.amount = 5_000_000
    order.id = 'other'
    expect(await running).toBe(true)
    expect(log.mock.calls).toEqual([['8812: 5 at bank.example']])
    expect(questions(rig().stub)).toEqual([{ ...asked, context: { amount: 5, seen: ['undefined', 'undefined'] } }])
  })

  it('stops on the signal among its arguments', async () => {
    const { stub } = rig()
    deciding(rig(), 'allow')
    const fn = vi.fn(async (_amount: number, _options: { signal: AbortSignal }) => 1)
    const act = protect(fn, { action: 'payment.refund', bind: [0], signal: (_amount, { signal }) => signal })
    const signal = AbortSignal.abort(new Error('gone'))
    expect(await rejectionOf(act(1, { signal }))).toBe(signal.reason)
    expect([fn.mock.calls.length, stub.connectionCount()]).toEqual([0, 0])
    const live = new AbortController()
    expect(await act(1, { signal: live.signal })).toBe(1)
    expect(fn.mock.calls[0]?.[1].signal).toBe(live.signal)
  })

  it('refuses a faulty mapping when it is made', () => {
    const client = rig().open()
    const faulty: unknown[] = [
      { contxt: {} },
      { bind: ['amount'] },
      { mode: 'off' },
      { onUnavailable: 'allow' },
      { onDeny: 1 },
    ]
    for (const options of faulty) expect(() => client.protect(() => 1, options as never)).toThrow(TypeError)
    expect(() => client.protect('fn' as never, { action: 'a.b' })).toThrow(TypeError)
    expect(() => client.enforcement().protect(() => 1, null as never)).toThrow(TypeError)
  })

  it('changes nothing for its function in the mode observe', async () => {
    const { stub } = rig()
    deciding(rig(), 'deny')
    const { events, onEvent } = listener()
    const order = { amount: 1 }
    const free = protect((given: { amount: number }) => Object.assign(given, { amount: 2 }), {
      action: 'payment.refund',
      mode: 'observe',
      onEvent,
    })
    expect(await free(order)).toBe(order)
    expect(events.at(-1)).toMatchObject({ type: 'observed', would: 'deny' })
    const url = new URL('http://localhost')
    expect(await protect((given: URL) => given, { action: 'a.b', mode: 'observe', onEvent })(url)).toBe(url)
    expect(events.at(-1)).toMatchObject({ type: 'observed', would: 'deny', reason: 'arguments_refused' })
    expect(questions(stub)).toHaveLength(1)
  })

  it('takes the mapping as it was when it was made', async () => {
    const { stub } = rig()
    deciding(rig(), 'allow')
    const mapping = { agent_id, action: 'payment.refund' }
    const act = rig()
      .open()
      .protect(() => 1, mapping)
    mapping.action = 'order.read'
    await act()
    expect(questions(stub)[0].action).toBe('payment.refund')
  })
})

describe('actionOf', () => {
  it('is there for integrations', async () => {
    const { Countersign: Client } = await import('../src/index.js')
    const client = new Client({ apiKey: 'key-of-a-test' })
    expect(client.enforcement().actionOf('send', 'payment.send')).toBe('payment.send')
    expect(() => client.enforcement().actionOf('send')).toThrow('unmapped')
    expect(client.enforcement({ unmapped: 'map' }).actionOf('send')).toBe('tool.send')
    expect(client.enforcement({ unmapped: 'map' }).actionOf('send', undefined, 'mcp')).toBe('mcp.send')
    expect(client.enforcement({ unmapped: 'map' }).actionOf('files/read')).toMatch(/^tool\.files\.read\.[0-9a-f]{32}$/)
    for (const name of ['', undefined as never]) {
      expect(() => client.enforcement({ unmapped: 'map' }).actionOf(name)).toThrow('unmapped')
    }
  })
})
