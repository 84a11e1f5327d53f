import { createSocket } from 'node:dgram'
import { readFile } from 'node:fs/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Resolve, resolveByDns } from '#server/feed/webhooks/resolve'

/** A question ends with its type and class. */
const TYPE_A = 1
const TYPE_AAAA = 28

/** The data of a record: the bytes of an address. */
type Records = Readonly<Record<number, readonly (readonly number[])[]>>

/** A name server that gives every name the same addresses; null: it never answers. */
async function nameServer(records: Records | null): Promise<Resolve> {
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    if (records === null) return
    // The question is the name, its type and its class; what follows (EDNS) is left out of the answer.
    const end = query.indexOf(0, 12) + 5
    const found = records[query.readUInt16BE(end - 4)] ?? []
    const head = Buffer.from(query.subarray(0, 12))
    head.writeUInt16BE(0x8180, 2)
    head.writeUInt16BE(found.length, 6)
    head.fill(0, 8)
    const type = query.subarray(end - 4, end - 2)
    const answers = found.map((bytes) =>
      Buffer.from([0xc0, 0x0c, ...type, 0, 1, 0, 0, 0, 1, 0, bytes.length, ...bytes]),
    )
    socket.send(Buffer.concat([head, query.subarray(12, end), ...answers]), port, address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  onTestFinished(() => void socket.close())
  return resolveByDns({ servers: [`127.0.0.1:${socket.address().port}`], queryTimeoutMs: 100 })
}

const IPV6 = [0x2e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]

describe('the addresses of a host', () => {
  it('are those of both families', async () => {
    const resolve = await nameServer({
      [TYPE_A]: [
        [8, 8, 8, 8],
        [127, 0, 0, 1],
      ],
      [TYPE_AAAA]: [IPV6],
    })
    expect(await resolve('hooks.example.com')).toEqual([
      { address: '8.8.8.8', family: 4 },
      { address: '127.0.0.1', family: 4 },
      { address: '2e00::1', family: 6 },
    ])
  })

  it('may be of one family only', async () => {
    const resolve = await nameServer({ [TYPE_AAAA]: [IPV6] })
    expect(await resolve('hooks.example.com')).toEqual([{ address: '2e00::1', family: 6 }])
  })

  it('may be missing', async () => {
    const resolve = await nameServer({})
    await expect(resolve('hooks.example.com')).rejects.toThrow(
      'The host has no public address, or its name cannot be resolved.',
    )
  })

  it('keep nobody waiting whose name server does not answer', async () => {
    const resolve = await nameServer(null)
    const names = Array.from({ length: 16 }, (_, i) => resolve(`hook${i}.example.com`))
    const waiting = Promise.allSettled(names)
    const startMs = performance.now()
    await readFile(new URL(import.meta.url))
    expect(performance.now() - startMs).toBeLessThan(1000)
    const results = await waiting
    expect(results.every(({ status }) => status === 'rejected')).toBe(true)
  })
})
