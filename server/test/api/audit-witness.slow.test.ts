/** Checkpoints in the hands of third parties: files, and a witness that follows C2SP tlog-witness to the letter. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ProofError, parseNote, parseVerifierKey } from '@countersign/audit-log'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { type AuditSource, serverSource } from '#server/cli/audit/audit-source'
import { parseKeptNotes, readKeptNotes } from '#server/cli/audit/kept-notes'
import { trustedKeysOf } from '#server/cli/audit/trusted-keys'
import { verifyExport } from '#server/cli/audit/verify-export'
import { giveToWitnesses } from '#server/cli/audit/witness'
import { verifyEd25519 } from '#server/use-cases/audit/verify-ed25519'
import { keySetOf } from '../audit-logs.js'
import { type RunningServer, runServer } from '../running-server.js'
import { StrictWitness } from '../strict-witness.js'
import { decide, succeed } from './refunds.js'

const ORIGIN = 'decide.example/root'

let server: RunningServer
let source: AuditSource
let folder: string
let file: string
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0, issuer: 'https://decide.example' } })
  vi.stubEnv('COUNTERSIGN_API_KEY', server.key)
  source = serverSource(server.url)
  folder = mkdtempSync(join(tmpdir(), 'audit-witness-'))
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await server.stop()
  rmSync(folder, { recursive: true })
})
let files = 0
beforeEach(async () => {
  file = join(folder, `kept-${files++}.txt`)
  await grow()
})

/** One more checkpoint, whose size is answered. */
async function grow(): Promise<number> {
  await succeed(
    server.call(
      'GET',
      `/v1/audit/proof?decision_id=${(await decide(server, { agent_id: 'agent:a', action: 'mail.send' })).id}`,
    ),
  )
  return (await succeed(server.call('GET', '/v1/audit/checkpoints'))).root.size
}

const kept = () => parseKeptNotes(readFileSync(file, 'utf8'), file)
const give = (options: Partial<Parameters<typeof giveToWitnesses>[1]> = {}, from = source) =>
  giveToWitnesses(from, { files: [file], urls: [], keys: [], ...options })

async function withWitness(
  work: (witness: StrictWitness, give: () => Promise<string[]>) => Promise<void>,
  origin = ORIGIN,
) {
  const witness = await new StrictWitness(origin, await keySetOf(server)).start()
  const keys = [parseVerifierKey(witness.verifierKey)]
  try {
    await work(witness, () => giveToWitnesses(source, { files: [file], urls: [witness.url], keys }))
  } finally {
    witness.stop()
  }
}

describe('a file that keeps checkpoints', () => {
  it('gets each new one beneath the others, once, and an export goes on from all of them', async () => {
    await give()
    await give()
    const size = await grow()
    await give()
    expect(kept().map(({ checkpoint }) => checkpoint.size)).toEqual([expect.any(Number), size])
    const text = await succeed(server.call('GET', '/v1/audit/export'))
    const exported = join(folder, 'export.ndjson')
    writeFileSync(exported, text)
    const keys = trustedKeysOf(await keySetOf(server))
    const checkpoints = kept().map(({ checkpoint }) => checkpoint)
    const verified = await verifyExport({ file: exported, keys, kept: checkpoints, budgets: [] })
    expect(verified).toMatchObject({ result: 'intact', details: { root: { origin: ORIGIN } } })
  })

  it('is not added to when the newest checkpoint does not go on from the last', async () => {
    await give()
    const before = readFileSync(file, 'utf8')
    const [, , root = ''] = before.split('\n')
    writeFileSync(file, before.replace(root, `${root[0] === 'A' ? 'B' : 'A'}${root.slice(1)}`))
    await grow()
    await expect(give()).rejects.toThrow(ProofError)
    // As `verify --kept` says of a root log that is shorter than a kept checkpoint.
    writeFileSync(file, before.replace(/\n\d+\n/, '\n1000000\n'))
    await expect(give()).rejects.toThrow(/has 1000000 checkpoints, and this root log \d+: its store is older/)
    await expect(give({}, { ...source, proveRoot: async () => null })).rejects.toThrow(`${file} keeps one`)
    expect(kept()).toHaveLength(1)
  })

  it('is refused when it holds something else', async () => {
    writeFileSync(file, 'notes of mine\n')
    await expect(give()).rejects.toThrow('Checkpoint 1 in')
  })
})

describe('a witness of C2SP', () => {
  it('signs what goes on from what it has signed, and the file keeps its signature', async () => {
    await withWitness(async (witness, give) => {
      await give()
      await grow()
      await give()
      expect(witness.statuses).toEqual([200, 200])
      const keys = [parseVerifierKey(witness.verifierKey)]
      expect(await readKeptNotes(file, keys, verifyEd25519)).toHaveLength(2)
      // The key that nobody knows is left out.
      expect(parseNote(kept()[1]?.note as string).signatures.map(({ name }) => name)).toEqual([
        ORIGIN,
        'witness.example/w1',
      ])
      expect(witness.latest?.size).toBe(kept()[1]?.checkpoint.size)
    })
  })

  it('says what it has signed last, which may be more or less than what is kept', async () => {
    await withWitness(async (witness, give) => {
      await give()
      writeFileSync(file, '')
      await grow()
      await give()
      witness.latest = null
      await grow()
      await give()
      expect(witness.statuses).toEqual([200, 409, 200, 409, 200])
    })
  })

  it('signs nothing of a log or key that it does not know', async () => {
    await withWitness(async (witness, give) => {
      await expect(give()).rejects.toThrow('does not know this log (404)')
      expect(witness.statuses).toEqual([404])
    }, 'other.example/root')
    const witness = await new StrictWitness(ORIGIN, { keys: [] }).start()
    await expect(give({ urls: [witness.url], keys: [parseVerifierKey(witness.verifierKey)] })).rejects.toThrow('(403)')
    witness.stop()
  })

  it('is named when it says that it has signed another log', async () => {
    await withWitness(async (witness, give) => {
      await give()
      witness.latest = { ...(witness.latest as NonNullable<typeof witness.latest>), root: new Uint8Array(32) }
      await grow()
      // Only the witness says so.
      await expect(give()).rejects.toMatchObject({
        exitCode: 1,
        message: expect.stringContaining(`${witness.url} says`),
      })
      expect(witness.statuses).toEqual([200, 422])
      expect(kept()).toHaveLength(1)
    })
  })

  it('shows nothing about the log when it says that it is ahead of it', async () => {
    await withWitness(async (witness, give) => {
      await give()
      witness.latest = { ...(witness.latest as NonNullable<typeof witness.latest>), size: 1_000_000 }
      const fault = await give().catch((error: Error) => error)
      expect(fault).toMatchObject({ exitCode: 1, message: expect.stringContaining(`${witness.url} says`) })
      expect(fault).toMatchObject({ message: expect.stringContaining('1000000') })
      expect(witness.statuses).toEqual([200, 409])
      expect(kept()).toHaveLength(1)
    })
  })

  it('is named when its answers make no sense', async () => {
    const size = await grow()
    await give()
    const newest = await grow()
    let answer = ''
    const witness = createServer((_req, res) => res.writeHead(409).end(answer))
    await new Promise<void>((resolve) => witness.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(witness.address() as AddressInfo).port}`
    try {
      for (answer of ['9'.repeat(30), `${size}`, `${size}\n`]) {
        const fault = await give({ urls: [url] }).catch((error: Error) => error)
        expect(fault).toMatchObject({ exitCode: 1, message: expect.stringContaining(`The witness ${url}`) })
      }
      answer = `${newest}\n`
      await expect(give({ urls: [url] })).rejects.toMatchObject({
        exitCode: 1,
        message: expect.stringContaining(`says that it has signed another root of the size ${newest} (409)`),
      })
      answer = 'a'.repeat(100_000)
      await expect(give({ urls: [url] })).rejects.toThrow('answered more than')
    } finally {
      witness.close()
      witness.closeAllConnections()
    }
  })

  it('is not believed with a key of somebody else', async () => {
    const other = new StrictWitness(ORIGIN, { keys: [] })
    await withWitness(async (witness) => {
      const keys = [parseVerifierKey(other.verifierKey)]
      await expect(give({ urls: [witness.url], keys })).rejects.toMatchObject({
        exitCode: 1,
        message: expect.stringContaining('The witness '),
      })
      await give()
      const [key] = [parseVerifierKey(witness.verifierKey)]
      await expect(readKeptNotes(file, [key], verifyEd25519)).rejects.toThrow('No known key has signed it')
    })
  })

  it('may be given checkpoints by others at the same time', async () => {
    await withWitness(async (witness, give) => {
      await give()
      const [first] = [witness.latest]
      await grow()
      let calls = 0
      witness.before = () => {
        // Somebody else has brought it further, or it has lost what it had, before each of the first answers.
        calls += 1
        if (calls < 3) witness.latest = calls === 1 ? null : first
      }
      await give()
      expect(witness.statuses).toEqual([200, 409, 409, 200])
    })
  })
})
