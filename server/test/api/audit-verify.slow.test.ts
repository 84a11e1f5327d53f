/** What `countersign audit verify` and `prove` say of answers of a server: proofs, permits, checkpoints and budgets. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Decision, DecisionProof, EntryProof, Jwks } from '@countersign/contract'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { auditExport } from '#server/cli/audit/export'
import { proveFromExport } from '#server/cli/audit/export-proof'
import { auditProve } from '#server/cli/audit/prove'
import { trustedKeysOf } from '#server/cli/audit/trusted-keys'
import { auditVerify } from '#server/cli/audit/verify'
import { verifyCheckpoints } from '#server/cli/audit/verify-checkpoints'
import { verifyExport } from '#server/cli/audit/verify-export'
import { verifyProof } from '#server/cli/audit/verify-proof'
import { keySetOf } from '../audit-logs.js'
import { type RunningServer, runServer } from '../running-server.js'
import { createPolicy, decide, succeed } from './refunds.js'

let server: RunningServer
let folder: string
let keySet: Jwks
let decisions: Decision[]
let exported: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'audit-verify-'))
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  keySet = await keySetOf(server)
  await createPolicy(server, {
    name: 'payments',
    rules: [{ action: 'pay.*', effect: 'allow' }],
    budget: { limit: 1000, unit: 'EUR', period: 'total' },
  })
  decisions = []
  for (let i = 0; i < 5; i += 1)
    decisions.push(await decide(server, { agent_id: 'agent:a', action: 'pay.create', context: { amount: 1.5 } }))
  for (const { id } of decisions.slice(2))
    await succeed(server.call('POST', `/v1/decisions/${id}/confirm`, { body: {} }))
  exported = file('export.ndjson', await succeed(server.call('GET', '/v1/audit/export')))
})
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true })
})

function file(name: string, content: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const proofOf = (id: string): Promise<DecisionProof> => succeed(server.call('GET', `/v1/audit/proof?decision_id=${id}`))
const permitOf = (i: number) => decisions[i]?.permit_token as string

describe('a proof', () => {
  const verified = async (proof: DecisionProof, permit?: string, keys = keySet) =>
    verifyProof({
      proof: file('proof.json', proof),
      permit: permit === undefined ? undefined : file('permit.txt', `${permit}\n`),
      keySet: keys,
    })

  it('shows all entries of a decision, and that its permit names one of them although it has expired', async () => {
    const proof = await proofOf(decisions[3]?.id as string)
    const found = await verified(proof, permitOf(3))
    expect(found).toMatchObject({ result: 'intact', details: { decision_id: decisions[3]?.id } })
    expect(found.lines).toEqual([
      expect.stringContaining('2 entries'),
      expect.stringContaining('decision.created'),
      expect.stringContaining('decision.confirmed'),
      expect.stringContaining('expired at 2026-11-21T10:0'),
    ])
  })

  it('is the same out of an export', async () => {
    for (const { id } of decisions) {
      const proof = await proveFromExport(exported, id)
      expect(proof.data.map(({ entry }) => entry.type)).toEqual((await proofOf(id)).data.map(({ entry }) => entry.type))
      expect(await verified(proof, decisions.find((one) => one.id === id)?.permit_token)).toMatchObject({
        result: 'intact',
      })
    }
    expect((await proveFromExport(exported, 'dec_01kagx1v5ne8sr6w1y6gqk4t2h')).data).toEqual([])
  })

  it('does not show the permit of another decision, nor one that was signed by somebody else', async () => {
    const proof = await proofOf(decisions[0]?.id as string)
    expect(await verified(proof, permitOf(1))).toMatchObject({ result: 'tampered' })
    const [head, body, signature = ''] = permitOf(0).split('.')
    const forged = [head, body, `${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}`].join('.')
    expect(await verified(proof, forged)).toMatchObject({
      result: 'tampered',
      details: { permit_error: 'signature_invalid' },
    })
    expect(await verified(proof, permitOf(0), { keys: [] })).toMatchObject({ details: { permit_error: 'key_unknown' } })
    await expect(verified(proof, 'no permit')).rejects.toThrow('The file does not contain a permit')
  })

  it('does not show entries of another decision, nor one entry twice', async () => {
    const [proof, other] = [await proofOf(decisions[0]?.id as string), await proofOf(decisions[1]?.id as string)]
    const [entry] = other.data
    for (const data of [other.data, [...proof.data, ...other.data]])
      expect(await verified({ ...proof, data })).toMatchObject({
        result: 'tampered',
        lines: [
          expect.stringContaining(
            `${entry?.entry.id}): It belongs to ${other.decision_id}, not to ${proof.decision_id}`,
          ),
        ],
      })
    expect(await verified({ ...proof, data: [...proof.data, ...proof.data] })).toMatchObject({
      result: 'tampered',
      lines: [expect.stringContaining('twice')],
    })
  })

  it('is found to be changed also beside an entry that is under no checkpoint yet', async () => {
    const proof = await proofOf(decisions[3]?.id as string)
    const [first, second] = proof.data as [EntryProof, EntryProof]
    const uncovered = { ...second, inclusion: null, checkpoint_inclusion: null }
    const forged = { ...first, entry: { ...first.entry, actor: null } }
    expect(await verified({ ...proof, data: [first, uncovered] })).toMatchObject({ result: 'incomplete' })
    for (const data of [
      [forged, uncovered],
      [uncovered, forged],
    ])
      expect(await verified({ ...proof, data })).toMatchObject({ result: 'tampered' })
  })

  it('of a server is not written when it is of another decision', async () => {
    const answer = JSON.stringify(await proofOf(decisions[1]?.id as string))
    const liar = createServer((_, res) => void res.setHeader('Content-Type', 'application/json').end(answer))
    await new Promise<void>((resolve) => liar.listen(0, '127.0.0.1', resolve))
    vi.stubEnv('COUNTERSIGN_API_KEY', server.key)
    const out = join(folder, 'lie.json')
    try {
      const url = `http://127.0.0.1:${(liar.address() as AddressInfo).port}`
      await expect(auditProve(decisions[0]?.id as string, { url, out })).rejects.toThrow(
        `proof of ${decisions[1]?.id}, not of ${decisions[0]?.id}`,
      )
      expect(existsSync(out)).toBe(false)
    } finally {
      vi.unstubAllEnvs()
      liar.close()
    }
  })

  it('is asked for only when there is a place for it', async () => {
    // Nobody listens there.
    const url = 'http://127.0.0.1:1'
    const out = join(folder, 'missing', 'proof.json')
    await expect(auditProve(decisions[0]?.id as string, { url, out })).rejects.toThrow('There is no folder')
  })

  it('does not show an entry that was changed, and is incomplete without a checkpoint', async () => {
    const proof = await proofOf(decisions[0]?.id as string)
    const changed = {
      ...proof,
      data: proof.data.map((one) => ({ ...one, entry: { ...one.entry, actor: null } })),
    }
    expect(await verified(changed)).toMatchObject({
      result: 'tampered',
      lines: [expect.stringContaining(`${proof.data[0]?.entry.id}): The leaf hash`)],
    })
    const uncovered = {
      ...proof,
      data: proof.data.map((data) => ({ ...data, inclusion: null, checkpoint_inclusion: null })),
    }
    expect(await verified(uncovered)).toMatchObject({ result: 'incomplete' })
    expect(await verified({ ...proof, data: [] })).toMatchObject({ result: 'incomplete' })
    await expect(verified({} as DecisionProof)).rejects.toThrow('is not a proof of a decision')
  })
})

describe('two checkpoints', () => {
  const verified = (from: string, to: string | undefined, proof: string | undefined, keys = keySet) =>
    verifyCheckpoints({ from, to, proof, keys: trustedKeysOf(keys) })
  const newest = async (): Promise<{ readonly note: string; readonly size: number }> =>
    (await succeed(server.call('GET', '/v1/audit/checkpoints'))).root
  const grow = () => decide(server, { agent_id: 'agent:a', action: 'pay.create' }).then(({ id }) => proofOf(id))

  it('are of one log when the proof leads from one to the other', async () => {
    const early = await newest()
    await grow()
    const late = await newest()
    const proof = file(
      'consistency.json',
      await succeed(server.call('GET', `/v1/audit/consistency?from=${early.size}`)),
    )
    const [from, to] = [file('from.txt', early.note), file('to.txt', late.note)]
    const result = { result: 'intact', details: { from: early.size, to: late.size } }
    expect(await verified(from, to, proof)).toMatchObject(result)
    expect(await verified(from, undefined, proof)).toMatchObject(result)
    expect(await verified(from, from, undefined)).toMatchObject({ result: 'intact' })
    expect(await verified(to, from, undefined)).toMatchObject({ result: 'tampered' })
    await expect(verified(from, to, undefined)).rejects.toThrow('Give --proof')
    await expect(verified(from, undefined, undefined)).rejects.toThrow('Name the later checkpoint')
  })

  it('are of one log under another issuer, as in an export, but not when one is of another log', async () => {
    const early = await newest()
    server = await server.restart({ settings: { issuer: 'https://renamed.example' } })
    await grow()
    const { data, root } = await succeed(server.call('GET', '/v1/audit/checkpoints'))
    expect(root.origin).toBe('renamed.example/root')
    const proof = file('renamed.json', await succeed(server.call('GET', `/v1/audit/consistency?from=${early.size}`)))
    const [from, ofLog] = [file('from.txt', early.note), file('log.txt', data[0].note)]
    expect(await verified(from, undefined, proof)).toMatchObject({
      result: 'intact',
      details: { origin: root.origin, from: early.size },
    })
    for (const one of [verified(ofLog, undefined, proof), verified(from, ofLog, proof)])
      expect(await one).toMatchObject({ result: 'tampered', lines: [expect.stringContaining('The proof is for ')] })
  })

  it('are not with another proof, other keys or a changed note', async () => {
    const early = await newest()
    await grow()
    const body = await succeed(server.call('GET', `/v1/audit/consistency?from=${early.size}`))
    const from = file('from.txt', early.note)
    const proof = file('consistency.json', body)
    expect(await verified(from, undefined, proof, { keys: [] })).toMatchObject({ result: 'tampered' })
    const other = file('other.json', { ...body, path: [...body.path, body.path[0] ?? 'A'.repeat(43).concat('=')] })
    expect(await verified(from, undefined, other)).toMatchObject({ result: 'tampered' })
    const changed = file('changed.txt', early.note.replace(`\n${early.size}\n`, `\n${early.size - 1}\n`))
    expect(await verified(changed, undefined, proof)).toMatchObject({ result: 'tampered' })
  })
})

describe('a command line that checks less than it seems to', () => {
  it.each<[string, () => Promise<number>]>([
    ['Name an export', () => auditVerify(undefined, { jwks: [] })],
    ['Name only one of', () => auditVerify('a', { jwks: [], proof: 'b' })],
    ['need an export', () => auditVerify(undefined, { jwks: [], proof: 'p', kept: ['k'] })],
    ['--witness-key needs --kept', () => auditVerify('a', { jwks: [], witnessKey: ['w'] })],
    ['--permit needs --proof', () => auditVerify(undefined, { jwks: [], permit: 'p', from: 'f' })],
    ['--to needs --from', () => auditVerify(undefined, { jwks: [], proof: 'p', to: 'f' })],
    ['name a file with --witness', () => auditExport({ witness: ['https://w.example'] })],
    ['Name the key of the witness', () => auditExport({ witness: ['https://w.example', 'file'] })],
    ['needs a --witness that is a URL', () => auditExport({ witness: ['file'], witnessKey: ['k'] })],
    ['needs a --witness', () => auditExport({ checkpointOnly: true })],
    ['omit --out', () => auditExport({ checkpointOnly: true, witness: ['file'], out: 'o' })],
    ['omit --url', () => auditExport({ offline: true, url: 'http://127.0.0.1' })],
    ['not a verifier key', () => auditExport({ witness: ['https://w.example', 'file'], witnessKey: ['k'] })],
  ])('is refused: %s', async (text, run) => {
    await expect(run()).rejects.toMatchObject({ exitCode: 64, message: expect.stringContaining(text) })
  })
})

describe('the budgets of an export', () => {
  const verified = (path: string, ...budgets: string[]) =>
    verifyExport({ file: path, keys: trustedKeysOf(keySet), kept: [], budgets })

  it('are those that the server shows, or the accounts that differ are named', async () => {
    await createPolicy(server, {
      name: 'large payments',
      rules: [{ action: 'buy.*', effect: 'allow' }],
      budget: { limit: 1e12, unit: 'EUR', period: 'total' },
    })
    const context = { amount: 4426022010.72 }
    const { id } = await decide(server, { agent_id: 'agent:a', action: 'buy.company', context })
    await succeed(server.call('POST', `/v1/decisions/${id}/confirm`, { body: {} }))
    const body = await succeed(server.call('GET', '/v1/budgets'))
    expect(body.data).toContainEqual(expect.objectContaining({ spent: context.amount }))
    const now = file('now.ndjson', await succeed(server.call('GET', '/v1/audit/export')))
    const shown = (count: string) => expect.arrayContaining([expect.stringMatching(`--budgets has ${count} of them`)])
    expect(await verified(now, file('budgets.json', body))).toMatchObject({ result: 'intact', lines: shown('[1-9]') })
    const nothing = file('budgets.json', { ...body, data: [] })
    expect(await verified(now, nothing)).toMatchObject({ result: 'intact', lines: shown('0') })
    const [account] = body.data
    const other = { ...body, data: [{ ...account, spent: account.spent + 0.25 }] }
    expect(await verified(now, file('budgets.json', other))).toMatchObject({
      result: 'tampered',
      details: { budget_differences: [{ member: 'spent', shown: account.spent + 0.25, recomputed: account.spent }] },
    })
    await expect(verified(now, file('budgets.json', { data: 1 }))).rejects.toThrow(
      'is not a response of a budgets endpoint',
    )
  })

  it('reads an export as it was written alone', async () => {
    const text = readFileSync(exported, 'utf8')
    expect(await verified(file('crlf.ndjson', text.replaceAll('\n', '\r\n')))).toMatchObject({
      result: 'tampered',
      details: { line: 1 },
    })
    expect(await verified(file('empty.ndjson', ''))).toMatchObject({ result: 'incomplete' })
    expect(await verified(file('more.ndjson', `${text}{"a":1}`))).toMatchObject({ result: 'incomplete' })
    expect(await verified(file('blank.ndjson', `${text}\n`))).toMatchObject({ result: 'tampered' })
  })
})
