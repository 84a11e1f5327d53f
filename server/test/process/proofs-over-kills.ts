/** What was acknowledged is in the log for good: its permit names an entry under a checkpoint, whenever the server is killed. */
import { ExportVerifier, parseCheckpoint, parseNote } from '@countersign/audit-log'
import type { Checkpoints } from '@countersign/contract'
import { SEED, seededRandom, until } from '@countersign/testkit'
import { expect } from 'vitest'
import { trustedKeysOf } from '#server/cli/audit/trusted-keys'
import { newDirectory, ShippedServer } from './shipped-server.js'

const CLIENTS = 16
const ISSUER = 'https://decisions.example'

export interface ProofRun {
  readonly env?: Readonly<Record<string, string>>
  readonly kills: number
}

export async function proofsOverKills({ env = {}, kills }: ProofRun): Promise<void> {
  console.log(`SEED=${SEED}`)
  const random = seededRandom(SEED)
  const start = { dataDir: newDirectory(), env: { ISSUER, ...env } }
  let server = await ShippedServer.start(start)
  await server.call('POST', '/v1/policies', { body: { name: 'pays', rules: [{ action: 'pay', effect: 'allow' }] } })
  const permits: string[] = []
  const shown = new Set<string>()
  for (let kill = 0; kill < kills; kill += 1) {
    const wanted = permits.length + 40 + Math.floor(random() * 300)
    const callers = Promise.all([
      ...Array.from({ length: CLIENTS }, () => decideAndConfirm(server, permits)),
      watchCheckpoints(server, shown),
    ])
    await until(`${wanted} permits`, () => (permits.length >= wanted ? true : undefined))
    server.process.kill('SIGKILL')
    await server.end()
    await callers
    server = await ShippedServer.start(start)
    const entries = await expectProved(server, permits, shown)
    console.log(`killed after ${permits.length} permits and ${shown.size} checkpoints: all are in ${entries} entries`)
  }
  await server.stop()
}

/** Until the server is killed. Keeps each permit that was answered. */
async function decideAndConfirm(server: ShippedServer, permits: string[]): Promise<void> {
  try {
    for (;;) {
      const request = { agent_id: 'agent:a', action: 'pay', context: { amount: permits.length } }
      const { body } = await server.call('POST', '/v1/decisions', { body: request })
      permits.push(body.permit_token)
      await server.call('POST', `/v1/decisions/${body.id}/confirm`, { body: {} })
    }
  } catch {
    // It was killed.
  }
}

/** Until the server is killed. Keeps the notes of all checkpoints that it showed. */
async function watchCheckpoints(server: ShippedServer, shown: Set<string>): Promise<void> {
  try {
    for (;;) {
      const { data, root }: Checkpoints = (await server.call('GET', '/v1/audit/checkpoints')).body
      for (const { note } of root === null ? data : [...data, root]) shown.add(note)
    }
  } catch {
    // It was killed.
  }
}

/** The position in the log that a permit names. */
interface Position {
  readonly log: string
  readonly index: number
  readonly leaf: string
}

function positionOf(permit: string): Position {
  return JSON.parse(Buffer.from(permit.split('.')[1] as string, 'base64url').toString()).audit
}

/** On MongoDB the killed process holds the trees for up to 15 s more. */
async function coveredByCheckpoints(server: ShippedServer, positions: readonly Position[]): Promise<void> {
  await until('a checkpoint over every permit', async () => {
    const { data }: Checkpoints = (await server.call('GET', '/v1/audit/checkpoints')).body
    const sizes = new Map(data.map(({ log, size }) => [log, size]))
    return positions.every(({ log, index }) => index < (sizes.get(log) ?? 0)) ? true : undefined
  })
}

/** The export is whole, goes on from each checkpoint that was shown, and has the entry of each permit. */
async function expectProved(server: ShippedServer, permits: string[], shown: Set<string>): Promise<number> {
  const positions = permits.map(positionOf)
  await coveredByCheckpoints(server, positions)
  const jwks = (await server.call('GET', '/.well-known/jwks.json')).body
  const exported: string = (await server.call('GET', '/v1/audit/export')).body
  const verifier = new ExportVerifier({
    ...trustedKeysOf(jwks),
    kept: [...shown].map((note) => parseCheckpoint(parseNote(note).text)),
  })
  const leaves = new Map<string, string>()
  for (const line of exported.split('\n').slice(0, -1)) {
    await verifier.add(Buffer.from(line))
    const { log, index, leaf } = JSON.parse(line)
    if (leaf !== undefined) leaves.set(`${log}/${index}`, leaf)
  }
  verifier.end()
  for (const { log, index, leaf } of positions) expect(leaves.get(`${log}/${index}`)).toBe(leaf)
  return leaves.size
}
