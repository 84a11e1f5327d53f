import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { connectTo } from '#server/feed/webhooks/connector'
import type { HostAddress, Resolve } from '#server/feed/webhooks/resolve'
import { Sender } from '#server/feed/webhooks/sender'
import { type Canary, startCanary, startReceiver } from './receiver.js'

/** What an attacker could have the server call. `PORT` is where the canary listens on every address of this machine. */
const HOSTILE_HOSTS = [
  'localhost',
  'LOCALHOST',
  'localhost.',
  'a.localhost',
  'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ',
  'loc%61lhost',
  '127.0.0.1',
  '127.0.0.1.',
  '127.0.1',
  '127.1',
  '127.255.255.254',
  '0x7f.1',
  '0x7f.0x0.0x0.0x1',
  '0x7f000001',
  '2130706433',
  '017700000001',
  '0177.0.0.1',
  '0177.0.0.01',
  '①②⑦.⓪.⓪.①',
  '127。0。0。1',
  '%31%32%37.0.0.1',
  '0',
  '0.0.0.0',
  '00000000000',
  '[::]',
  '[::1]',
  '[0000:0000:0000:0000:0000:0000:0000:0001]',
  '[::127.0.0.1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:127.0.0.1]',
  '[::ffff:0.0.0.0]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b:1::7f00:1]',
  '[2002:7f00:1::]',
  '[2001:0:7f00:1::]',
  '10.0.0.1',
  '100.100.100.200',
  '169.254.169.254',
  '172.17.0.1',
  '192.168.0.1',
  '168.63.129.16',
  '[::ffff:169.254.169.254]',
  '[::ffff:a00:1]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[ff02::1]',
]

const HOSTILE_URLS = [
  ...HOSTILE_HOSTS.map((host) => `https://${host}:PORT/`),
  'https://user:password@127.0.0.1:PORT/',
  'https://example.com@127.0.0.1:PORT/',
  'https://127.0.0.1:PORT#@example.com/',
  'https://127.0.0.1:PORT\\@example.com/',
  'https:\\\\127.0.0.1:PORT/',
  'https:127.0.0.1:PORT',
  'https:////127.0.0.1:PORT/',
  'http://127.0.0.1:PORT/',
  'HTTP://127.0.0.1:PORT/',
  'https://127.0.0.1:PORT/?x=https://example.com/',
  'https://[fe80::1%25lo]:PORT/',
  'https://hooks.example.com:PORT/',
  'https://hooks.example.com:22/',
  'https://hooks.example.com:PORT.evil.example/',
]

let canary: Canary
beforeAll(async () => {
  canary = await startCanary()
})
afterAll(() => canary.close())
afterEach(() => expect(canary.connectionCount()).toBe(0))

/** Whatever name is asked for is this machine. */
const toThisMachine: Resolve = async () => [{ address: '127.0.0.1', family: 4 }]

const CLOCK = { now: () => new Date() }

function send(url: string, resolve: Resolve = toThisMachine) {
  const sender = new Sender(url, { allowsPrivate: false, clock: CLOCK, resolve, connectTimeoutMs: 300 })
  return sender.send({}, Buffer.from('{}')).finally(() => sender.close())
}

describe('the canary', () => {
  it('is heard where private networks are allowed', async () => {
    const heard = await startCanary()
    const url = new URL(`http://[::ffff:127.0.0.1]:${heard.port}/`)
    const socket = await connectTo(url, { allowsPrivate: true, connectTimeoutMs: 5000 })
    socket.destroy()
    await expect.poll(heard.connectionCount).toBe(1)
    await heard.close()
  })
})

describe('nothing is connected to', () => {
  const urls = HOSTILE_URLS.filter((url) => URL.canParse(url.replaceAll('PORT', '8443')))

  it('of at least 60 hostile URLs', () => expect(HOSTILE_URLS.length).toBeGreaterThanOrEqual(60))

  it.each(urls)('by a sender for %s', async (text) => {
    const result = await send(text.replaceAll('PORT', String(canary.port)))
    expect(result).toMatchObject({ status: null, response: null })
    expect(result.error).toMatch(/^The (URL must|host has)/)
  })

  it.each(HOSTILE_HOSTS)('by the connector, which knows no rules of ports and names, for %s', async (host) => {
    const url = new URL(`https://${host}:${canary.port}/`)
    const connecting = connectTo(url, { allowsPrivate: false, connectTimeoutMs: 300, resolve: toThisMachine })
    await expect(connecting).rejects.toThrow('The host has no public address, or its name cannot be resolved.')
  })
})

/** Public by its number, and nobody's: connecting to it fails. */
const NOBODY = { address: '2e00::1', family: 6 }
const MACHINE = { address: '127.0.0.1', family: 4 }

function answeringInTurn(answers: readonly (readonly HostAddress[])[]) {
  let asked = 0
  const resolve: Resolve = async () => answers[Math.min(asked++, answers.length - 1)] ?? []
  return { resolve, asked: () => asked }
}

describe('a name', () => {
  it('that is public first and then private is asked for once, and not connected to when it is private', async () => {
    const { resolve, asked } = answeringInTurn([[NOBODY], [MACHINE]])
    const url = `https://hooks.example.com:8443/`
    const first = await send(url, resolve)
    expect(first.error).not.toBe('The host has no public address, or its name cannot be resolved.')
    expect(asked()).toBe(1)
    expect(await send(url, resolve)).toMatchObject({
      error: 'The host has no public address, or its name cannot be resolved.',
    })
    expect(asked()).toBe(2)
  })

  it.each([
    ['also private', [NOBODY, MACHINE]],
    ['private first', [MACHINE, NOBODY]],
    ['mapped', [{ address: '::ffff:127.0.0.1', family: 6 }]],
    ['behind NAT64', [{ address: '64:ff9b::7f00:1', family: 6 }]],
    ['with a zone', [{ address: 'fe80::1%lo', family: 6 }]],
    ['no address', [{ address: 'localhost', family: 4 }]],
  ])('whose answer is %s is not connected to', async (_, answer) => {
    const resolve: Resolve = async () => answer
    const url = new URL(`https://hooks.example.com:${canary.port}/`)
    const connecting = connectTo(url, { allowsPrivate: false, connectTimeoutMs: 300, resolve })
    await expect(connecting).rejects.toThrow('The host has no public address, or its name cannot be resolved.')
  })

  it('without an address fails', async () => {
    expect(await send('https://hooks.example.com/', async () => [])).toMatchObject({
      error: 'The host has no public address, or its name cannot be resolved.',
    })
  })
})

describe('a redirect', () => {
  it.each([301, 302, 307, 308])('to the canary is not followed (%d)', async (status) => {
    const location = `http://127.0.0.1:${canary.port}/`
    const redirecting = await startReceiver((_, res) => res.writeHead(status, { location }).end())
    const sender = new Sender(redirecting.url, { allowsPrivate: true, clock: CLOCK })
    expect(await sender.send({}, Buffer.from('{}'))).toMatchObject({ status, response: '' })
    sender.close()
    await redirecting.close()
  })
})
