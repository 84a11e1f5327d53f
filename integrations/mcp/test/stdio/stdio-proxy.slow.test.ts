import { describe, expect, test } from 'vitest'
import { allowed, type Setup, useProxies } from './proxied-server.js'

const {
  start,
  lastStatus,
  shared,
  tools: TOOLS,
} = useProxies([
  'echo',
  'environment',
  'big',
  'die',
  'hang',
  'slow',
  'last',
  'half',
  'garbage',
  'crlf',
  'deep',
  'flood',
  'stop_reading',
])

const INITIALIZE = {
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}

describe('calls', () => {
  test('run on a decision that permits them, and everything else passes', async () => {
    const tools = {
      echo: allowed,
      hang: { action: 't.deny', resource: null },
      slow: { action: 't.review', resource: null },
      die: { action: 't.allow', resource: 'x:{gone}' },
    }
    const proxy = start({ config: { agent_id: shared().rig.agentId, tools } })
    proxy.send({ id: 'i', ...INITIALIZE }, { method: 'notifications/initialized' }, { id: 1, method: 'ping' })
    expect((await proxy.answerTo('i')).result).toMatchObject({ serverInfo: { name: 'raw' } })
    expect((await proxy.answerTo(1)).result).toEqual({})

    proxy.call(2, 'echo', { n: 1 })
    expect(await proxy.textOf(2)).toBe('{"n":1}')
    expect(await lastStatus()).toBe('confirmed')
    proxy.call(3, 'hang')
    proxy.call(4, 'slow')
    proxy.call(5, 'die')
    proxy.call(6, 'constructor')
    expect(await proxy.textOf(3)).toMatch(/^The call did not run\. .*\(denied, decision dec_/)
    expect(await proxy.textOf(4)).toMatch(/review_required, decision dec_/)
    expect(await proxy.textOf(5)).toMatch(/\{gone\}, which is missing/)
    expect(await proxy.textOf(6)).toMatch(/unmapped/)
    expect(proxy.notes().filter((note) => note.startsWith('call'))).toEqual(['call echo'])
    expect(proxy.notes()).toContain('notifications/initialized')
  })

  test('one that is asked about delays nothing else', async () => {
    const proxy = start()
    const held = shared().relay.hold('ask')
    try {
      proxy.call(1, 'echo')
      await held.arrived
      proxy.send({ id: 2, method: 'ping' }, { id: 3, method: 'tools/list' })
      await proxy.answerTo(3)
      expect(proxy.messages.map(({ id }) => id)).toEqual([2, 3])
      held.release()
      await proxy.answerTo(1)
    } finally {
      shared().relay.heal()
    }
  })

  test('may hold and give 10 MB', async () => {
    const proxy = start()
    const big = 'ä'.repeat(5_000_000)
    proxy.call(1, 'big', { bytes: 10_000_000 })
    proxy.call(2, 'echo', { big })
    expect((await proxy.textOf(1)).length).toBe(10_000_000)
    expect(JSON.parse(await proxy.textOf(2))).toEqual({ big })
  })

  test('may be sent before the server reads', async () => {
    const proxy = start({ flags: ['--starts-slowly'] })
    proxy.send({ id: 0, ...INITIALIZE })
    for (let id = 1; id <= 20; id += 1) proxy.call(id, 'echo', { id })
    for (let id = 1; id <= 20; id += 1) expect(await proxy.textOf(id)).toBe(`{"id":${id}}`)
  })
})

describe('lines that are no messages', () => {
  test('of the client are answered, and cost it nothing else', async () => {
    const proxy = start()
    proxy.write('garbage\n\n\r\n{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n{"half":\n')
    proxy.write(
      Buffer.from(
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"a":"\xff"}}}\n',
        'latin1',
      ),
    )
    proxy.write('"\u2028"\n{"jsonrpc":"2.0","id":3,"met')
    proxy.write('hod":"ping"}\n')
    await proxy.answerTo(3)
    expect(await proxy.textOf(2)).toBe('{"a":"\ufffd"}')
    expect(proxy.messages.filter(({ id }) => id === 1)).toHaveLength(1)
    const refusals = proxy.messages.flatMap(({ id, error }) => (id === null ? [error?.code] : []))
    expect(refusals).toEqual([-32700, -32700, -32600])
  })

  test('of the server are left out, and said once', async () => {
    const proxy = start({ flags: ['--writes-garbage'] })
    for (const [id, name] of ['garbage', 'crlf', 'deep', 'echo'].entries()) {
      proxy.call(id, name)
      await proxy.answerTo(id)
    }
    expect(proxy.messages.filter(({ method }) => method !== undefined)).toMatchObject([{ params: { data: 'crlf' } }])
    expect(proxy.errors.match(/is not JSON/g)).toHaveLength(1)
    expect(proxy.errors).toContain('Server started')
  })
})

describe('a server that ends', () => {
  test('in the midst of a call: what is pending is answered, and the call is left', async () => {
    const proxy = start()
    proxy.call(1, 'hang')
    await proxy.noted('call hang')
    proxy.call(2, 'die')
    for (const id of [1, 2]) expect((await proxy.answerTo(id)).error).toMatchObject({ code: -32000 })
    expect(await proxy.exited).toEqual({ code: 1, signal: null })
    expect(await lastStatus()).toBe('authorized')
    expect(proxy.errors).toContain('exit code 3')
  })

  test('in the midst of an answer', async () => {
    const proxy = start()
    proxy.call(1, 'half')
    expect((await proxy.answerTo(1)).error).toMatchObject({ code: -32000 })
    expect((await proxy.exited).code).toBe(1)
    expect(await lastStatus()).toBe('authorized')
  })

  test('right after an answer: that counts', async () => {
    const proxy = start()
    proxy.call(1, 'last')
    expect(await proxy.textOf(1)).toBe('the last one')
    expect((await proxy.exited).code).toBe(1)
    expect(await lastStatus()).toBe('confirmed')
  })

  test('right after a list, which is filtered', async () => {
    const proxy = start({ options: ['--list', 'hide'], flags: ['--ends-after-a-list'] })
    proxy.send({ id: 1, method: 'tools/list' })
    expect(JSON.stringify((await proxy.answerTo(1)).result)).toContain('"echo"')
    expect((await proxy.exited).code).toBe(1)
  })

  test('before it was initialized', async () => {
    const proxy = start({ flags: ['--ends-at-once'] })
    proxy.send({ id: 1, ...INITIALIZE })
    expect((await proxy.exited).code).toBe(1)
    expect(proxy.errors).toContain('exit code 7')
  })

  test('its input alone', async () => {
    const program = 'exec 0<&-; echo "pid $$" >> "$NOTES"; echo closed >> "$NOTES"; exec sleep 1000'
    const proxy = start({ command: ['sh', '-c', program] })
    await proxy.noted('closed')
    proxy.call(1, 'echo')
    expect((await proxy.answerTo(1)).error).toBeDefined()
    expect((await proxy.exited).code).toBe(1)
    await proxy.gone()
    expect(await lastStatus()).toBe('authorized')
  })

  test('while a call is asked about: it was not sent, and holds nothing', async () => {
    const proxy = start()
    proxy.send({ id: 0, method: 'ping' })
    await proxy.answerTo(0)
    const held = shared().relay.hold('ask')
    try {
      proxy.call(1, 'echo')
      await held.arrived
      for (const pid of proxy.pids()) process.kill(pid, 'SIGKILL')
      await proxy.gone()
      // Then the proxy knows: a call that it sends before is one that may have arrived.
      await proxy.answerTo(1)
      held.release()
      expect((await proxy.exited).code).toBe(1)
      expect(await lastStatus()).toBe('rejected')
    } finally {
      shared().relay.heal()
    }
  })
})

describe('the end of the proxy', () => {
  const stubborn = ['--ignores-signals', '--never-ends', '--has-a-child']

  test('comes with that of its input, and ends the server', async () => {
    const proxy = start()
    proxy.send({ id: 1, method: 'ping' })
    await proxy.answerTo(1)
    proxy.child.stdin.end()
    expect(await proxy.exited).toEqual({ code: 0, signal: null })
    await proxy.gone()
  })

  test('waits for what is in progress', async () => {
    const proxy = start()
    const held = shared().relay.hold('ask')
    try {
      proxy.call(1, 'echo', { last: true })
      await held.arrived
      proxy.child.stdin.end()
      held.release()
      expect(await proxy.textOf(1)).toBe('{"last":true}')
      expect((await proxy.exited).code).toBe(0)
      expect(await lastStatus()).toBe('confirmed')
    } finally {
      shared().relay.heal()
    }
  })

  test('waits for nothing that does not end', async () => {
    const proxy = start({ flags: stubborn })
    proxy.call(1, 'hang')
    await proxy.noted('call hang')
    proxy.child.stdin.end()
    expect((await proxy.answerTo(1)).error).toMatchObject({ code: -32000 })
    expect((await proxy.exited).code).toBe(0)
    await proxy.gone()
    expect(await lastStatus()).toBe('authorized')
  })

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('by %s leaves no process behind', async (signal) => {
    const proxy = start({ flags: stubborn })
    proxy.call(1, 'hang')
    await proxy.noted('call hang')
    expect(proxy.pids()).toHaveLength(2)
    proxy.child.kill(signal)
    expect(await proxy.exited).toEqual({ code: 0, signal: null })
    await proxy.gone()
    expect(proxy.notes()).toContain('SIGTERM')
  })

  test('by a second signal is at once', async () => {
    const proxy = start({ flags: stubborn })
    proxy.send({ id: 1, method: 'ping' })
    await proxy.answerTo(1)
    proxy.child.kill('SIGTERM')
    await proxy.noted('SIGTERM')
    proxy.child.kill('SIGINT')
    expect((await proxy.exited).code).toBe(0)
    await proxy.gone()
  })

  test('comes when nobody reads its output', async () => {
    const proxy = start({ flags: stubborn })
    proxy.send({ id: 1, method: 'ping' })
    await proxy.answerTo(1)
    proxy.child.stdout.destroy()
    proxy.send({ id: 2, method: 'ping' })
    expect((await proxy.exited).code).toBe(0)
    await proxy.gone()
  })

  test('leaves nothing that the server has started, when that ends first', async () => {
    const proxy = start({ flags: ['--has-a-child'] })
    proxy.call(1, 'die')
    await proxy.answerTo(1)
    expect((await proxy.exited).code).toBe(1)
    await proxy.gone()
  })
})

describe('a side that does not read', () => {
  /** What no longer changes. */
  async function settled(read: () => unknown): Promise<unknown> {
    const seen: string[] = []
    const isSettled = (): boolean => seen.push(JSON.stringify(read())) > 1 && seen.at(-1) === seen.at(-2)
    await expect.poll(isSettled, { interval: 500, timeout: 15_000 }).toBe(true)
    return read()
  }

  test('of the client holds the server up', async () => {
    const proxy = start()
    proxy.child.stdout.pause()
    proxy.call(1, 'flood', { megabytes: 80 })
    await proxy.noted('flood 1')
    await settled(() => proxy.notes())
    expect(proxy.notes()).not.toContain('flood 60')
    proxy.child.stdout.resume()
    await proxy.answerTo(1)
    expect(proxy.messages).toHaveLength(81)
  })

  test('of the server holds the client up', async () => {
    const proxy = start({ config: { agent_id: shared().rig.agentId, tools: TOOLS, pass: ['notifications/test'] } })
    proxy.call(1, 'stop_reading')
    await proxy.noted('call stop_reading')
    const params = { line: 'x'.repeat(1_000_000) }
    const message = `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/test', params })}\n`
    let written = 0
    const writeOn = (): void => {
      if (written < 100) proxy.child.stdin.write(message, writeOn)
      written += 1
    }
    writeOn()
    await settled(() => written)
    expect(written).toBeLessThan(60)
    for (const pid of proxy.pids()) process.kill(pid, 'SIGUSR2')
    const received = (): number => proxy.notes().filter((note) => note === 'notifications/test').length
    await expect.poll(received, { timeout: 15_000 }).toBe(100)
  })
})

describe('the key', () => {
  test('is nowhere but at the decision point', async () => {
    const env = {
      COUNTERSIGN_AGENT_ID: shared().rig.agentId,
      Countersign_Other: 'x',
      ANOTHER: `Bearer ${shared().apiKey}`,
      MINE: 'kept',
    }
    const proxy = start({ env })
    proxy.call(1, 'environment')
    const seen = JSON.parse(await proxy.textOf(1)) as { env: Record<string, string>; argv: string[] }
    expect(seen.env.MINE).toBe('kept')
    expect(Object.keys(seen.env).filter((name) => /countersign|another/i.test(name))).toEqual([])
    proxy.child.stdin.end()
    await proxy.exited
    expect(JSON.stringify(seen) + JSON.stringify(proxy.messages) + proxy.errors).not.toContain(shared().apiKey)
  })

  test('that is not taken ends the proxy, by words that do not show it', async () => {
    const wrong = `${shared().apiKey.slice(0, -4)}0000`
    const proxy = start({ apiKey: wrong })
    expect((await proxy.exited).code).toBe(78)
    await proxy.gone()
    expect(proxy.errors).toMatch(/"level":"error".*refuses the API key.*COUNTERSIGN_API_KEY/)
    expect(proxy.errors).not.toContain(wrong.slice(0, 20))
  })

  test('that may not ask ends the proxy', async () => {
    const proxy = start({ apiKey: await shared().rig.operator.makeKey(['audit:read']) })
    expect((await proxy.exited).code).toBe(78)
    expect(proxy.errors).toMatch(/"level":"error".*insufficient_scope.*COUNTERSIGN_API_KEY/)
  })
})

describe('the start', () => {
  test.each<[string, Partial<Setup>, number, string]>([
    ['no configuration', { config: null }, 78, 'countersign-mcp.json cannot be used:\\n  - the file does not exist'],
    ['a faulty one', { config: { tools: { a: { action: 'x' } } } }, 78, 'tools[\\"a\\"].resource: '],
    ['one that is no JSON', { config: '{' }, 78, 'the file is not valid JSON'],
    ['no agent', { config: { tools: {} } }, 78, 'agent_id is missing'],
    ['no key', { env: { COUNTERSIGN_API_KEY: '' } }, 78, 'COUNTERSIGN_API_KEY'],
    ['a faulty address', { env: { COUNTERSIGN_URL: 'x' } }, 78, 'COUNTERSIGN_URL'],
    ['no command', { command: null }, 64, 'the server is missing'],
    ['nothing after the dashes', { command: [] }, 64, 'the server is missing'],
    ['a command before the dashes', { options: ['node'] }, 64, 'too many arguments'],
    ['an unknown option', { options: ['--lists', 'all'] }, 64, 'Did you mean --list'],
    ['a faulty option', { options: ['--mode', 'off'] }, 64, 'enforce, observe'],
    ['an unknown command', { command: ['no-such-command-here'] }, 127, 'no-such-command-here was not found'],
    ['a command that is none', { command: ['/'] }, 126, 'The command / could not be started (EACCES)'],
  ])('with %s', async (_, setup, code, words) => {
    const proxy = start(setup)
    expect((await proxy.exited).code).toBe(code)
    expect(proxy.errors).toContain(words)
    expect(proxy.messages).toEqual([])
  })

  test('without a decision point: nothing is permitted, which is said once', async () => {
    const proxy = start({ url: 'http://127.0.0.1:1' })
    proxy.send({ id: 'i', ...INITIALIZE })
    await proxy.answerTo('i')
    proxy.call(1, 'echo')
    expect(await proxy.textOf(1)).toMatch(/unavailable/)
    proxy.call(2, 'echo')
    expect(await proxy.textOf(2)).toMatch(/unavailable/)
    proxy.child.stdin.end()
    expect((await proxy.exited).code).toBe(0)
    expect(proxy.errors.match(/cannot be reached/g)).toHaveLength(1)
    expect(proxy.notes().filter((note) => note.startsWith('call'))).toEqual([])
  })

  test('by options before what the file says', async () => {
    const config = { agent_id: 'agent:other', mode: 'enforce', tools: { hang: { action: 't.deny', resource: null } } }
    const options = ['--agent', shared().rig.agentId, '--mode', 'observe', '--config', 'countersign-mcp.json']
    const proxy = start({ config, options })
    proxy.call(1, 'echo')
    proxy.call(2, 'hang')
    await proxy.answerTo(1)
    await proxy.noted('call hang')
    expect(shared().relay.decisions.at(-1)?.agent_id).toBe(shared().rig.agentId)
  })
})
