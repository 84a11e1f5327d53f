/** What an erased request leaves in the files of the embedded store, and in backups: nothing, whatever happens to the process. */
import { join } from 'node:path'
import { requestHash } from '@countersign/permit'
import { stress, until } from '@countersign/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { endChildren } from './child.js'
import { filesWith } from './files-with.js'
import { countersign, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

const AGENT = 'agent:a'
const MARKER = 'marker-7q3z'

/** In the resource, in keys and in values; longer than a page when that is wanted. */
function requestOf(name: string, length = 0) {
  const text = `${MARKER} of ${name} `.padEnd(length, `${MARKER} `)
  return {
    agent_id: AGENT,
    action: 'pay.create',
    resource: `order:${MARKER}-${name}`,
    context: { amount: 1, [`${MARKER} ${name}`]: true, deep: { list: [text, { [MARKER]: text.slice(0, 100) }] } },
  }
}

interface Asked {
  readonly id: string
  readonly hash: string
}

class Scene {
  asked: Asked[] = []

  private constructor(
    readonly dataDir: string,
    public server: ShippedServer,
  ) {}

  static async open(env: Record<string, string> = {}): Promise<Scene> {
    const dataDir = newDirectory()
    const server = await ShippedServer.start({ dataDir, env })
    const rules = [{ action: 'pay.create', effect: 'allow' }]
    const budget = { limit: 1_000_000, unit: 'EUR', period: 'total' }
    await server.call('POST', '/v1/policies', { body: { name: 'pay', rules, budget } })
    return new Scene(dataDir, server)
  }

  async ask(name: string, length?: number): Promise<Asked> {
    const body = requestOf(name, length)
    const headers = { 'Idempotency-Key': `call-${name}` }
    const answer = await this.server.call('POST', '/v1/decisions', { body, headers })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    const asked = { id: answer.body.id, hash: requestHash(body) }
    this.asked.push(asked)
    return asked
  }

  /** Decisions that nobody erases, which grow and move others to other pages when they are settled. */
  async fill(count: number, round: string): Promise<void> {
    const one = async (i: number) => {
      const body = {
        agent_id: 'agent:other',
        action: 'pay.create',
        context: { amount: 1, pad: 'x'.repeat((i * 37) % 900) },
      }
      const { id } = (await this.server.call('POST', '/v1/decisions', { body })).body
      const note = `${round} ${'n'.repeat((i * 53) % 400)}`
      if (i % 3 !== 0) await this.server.call('POST', `/v1/decisions/${id}/confirm`, { body: { amount: 0.5, note } })
    }
    for (let i = 0; i < count; i += 20) await Promise.all(Array.from({ length: 20 }, (_, k) => one(i + k)))
  }

  async erase(id: string): Promise<void> {
    const { status } = await this.server.call('DELETE', `/v1/audit/requests/${id}`)
    expect(status).toBe(204)
  }

  /** A file that `countersign backup` makes now. */
  async backup(): Promise<string> {
    const file = join(newDirectory(), 'countersign.backup')
    const { code } = await countersign(['backup', file], { env: { DATA_DIR: this.dataDir } }).end()
    expect(code).toBe(0)
    return file
  }
}

const tracesOf = (asked: readonly Asked[]) => ({ texts: [MARKER], hashes: asked.map(({ hash }) => hash) })

describe('after the answer', () => {
  it('no file and no backup has anything of the request, however the decision was written and moved', async () => {
    const scene = await Scene.open()
    const { dataDir } = scene
    for (let i = 0; i < stress.erased_requests; i += 1) {
      await scene.ask(`${i}`, [0, 3000, 9000, 40_000][i % 4])
      await scene.fill(20, `${i}`)
    }
    for (const { id } of scene.asked.slice(0, 4))
      await scene.server.call('POST', `/v1/decisions/${id}/confirm`, { body: { note: 'n'.repeat(300) } })
    expect(filesWith(dataDir, tracesOf(scene.asked))).not.toEqual([])
    const [first, ...others] = scene.asked
    await scene.erase(first?.id as string)
    expect(filesWith(dataDir, { texts: [`${MARKER} of 0 `, `${MARKER}-0"`], hashes: [first?.hash as string] })).toEqual(
      [],
    )
    const filling = scene.fill(60, 'meanwhile')
    for (const { id } of others) await scene.erase(id)
    expect(filesWith(dataDir, tracesOf(scene.asked))).toEqual([])
    await filling
    expect(filesWith(dataDir, tracesOf(scene.asked))).toEqual([])
    expect(filesWith(join(await scene.backup(), '..'), tracesOf(scene.asked))).toEqual([])
    await scene.server.stop()
    expect(filesWith(dataDir, tracesOf(scene.asked))).toEqual([])
  })

  it('of an agent, none has anything of all its requests', async () => {
    const scene = await Scene.open()
    for (let i = 0; i < 10; i += 1) await scene.ask(`${i}`, 2000)
    const answer = await scene.server.call('DELETE', `/v1/audit/requests?agent_id=${AGENT}`)
    expect(answer).toMatchObject({ status: 200, body: { agent_id: AGENT, erased: 10 } })
    expect(filesWith(scene.dataDir, tracesOf(scene.asked))).toEqual([])
  })
})

describe('a server that is killed', () => {
  it('right after the answer has left nothing behind, and neither has the next one', async () => {
    const scene = await Scene.open()
    for (let i = 0; i < 6; i += 1) await scene.ask(`${i}`, 5000)
    await scene.fill(20, 'before')
    for (const { id } of scene.asked) await scene.erase(id)
    scene.server.signal('SIGKILL')
    await scene.server.end()
    expect(filesWith(scene.dataDir, tracesOf(scene.asked))).toEqual([])
    scene.server = await ShippedServer.start({ dataDir: scene.dataDir })
    await scene.fill(20, 'after')
    for (const { id } of scene.asked) {
      const { body } = await scene.server.call('GET', `/v1/decisions/${id}`)
      expect([body.context, body.resource, body.request_hash]).toEqual([null, null, null])
    }
    expect(filesWith(scene.dataDir, tracesOf(scene.asked))).toEqual([])
  })

  it('before the answer leaves nothing behind once the call is repeated', async () => {
    const scene = await Scene.open()
    for (let i = 0; i < 6; i += 1) await scene.ask(`${i}`, 5000)
    const erasing = scene.server.call('DELETE', `/v1/audit/requests?agent_id=${AGENT}`).catch(() => null)
    const told = `/v1/audit?type=request.erased&limit=200`
    await until('the erasures', async () => {
      const { body } = await scene.server.call('GET', told)
      return body.data.length === scene.asked.length || undefined
    })
    scene.server.signal('SIGKILL')
    await Promise.all([erasing, scene.server.end()])
    scene.server = await ShippedServer.start({ dataDir: scene.dataDir })
    await scene.erase(scene.asked[0]?.id as string)
    expect(filesWith(scene.dataDir, tracesOf(scene.asked))).toEqual([])
  })
})
