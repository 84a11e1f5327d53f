/** `docs/verify_audit.py`, which was written from docs/audit-proofs.md alone, reaches the verdicts of `countersign audit verify`. */
import { spawn } from 'node:child_process'
import { generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  checkpointLine,
  checkpointText,
  EMPTY_ROOT,
  type Hash,
  leafHash,
  leafHashOfText,
  MerkleTree,
  noteKeyId,
  noteText,
  SIGNATURE_TYPES,
} from '@countersign/audit-log'
import type { Jwks } from '@countersign/contract'
import { canonicalJson } from '@countersign/contract/canonical-json'
import { SEED, seededRandom, stress } from '@countersign/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseKeptNotes } from '#server/cli/audit/kept-notes'
import { trustedKeysOf } from '#server/cli/audit/trusted-keys'
import { type Finding, VERDICTS } from '#server/cli/audit/verdict'
import { verifyExport } from '#server/cli/audit/verify-export'
import { exportWith, keySetOf, writeLogs } from '../audit-logs.js'
import { runServer } from '../running-server.js'

const PROGRAM = fileURLToPath(new URL('../../../docs/verify_audit.py', import.meta.url))
const ENTRIES = 60
const TOGETHER = 3

let folder: string
let whole: string
let lines: readonly string[]
let keySet: Awaited<ReturnType<typeof keySetOf>>
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'python-verifier-'))
  const first = await runServer({ settings: { rateLimitPerSecond: 0 } })
  const server = await first.restart({ meanwhile: (dataDir) => writeLogs(dataDir, 3, ENTRIES) })
  whole = await exportWith(server, ENTRIES)
  keySet = await keySetOf(server)
  await server.stop()
  lines = whole.split('\n').slice(0, -1)
}, 120_000)
afterAll(() => rmSync(folder, { recursive: true }))

async function python(args: readonly string[]): Promise<number> {
  const child = spawn('python3', [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  child.stdout.resume()
  const [code] = await once(child, 'close')
  return code
}

let files = 0
function fileOf(content: Uint8Array | string): string {
  files += 1
  const file = join(folder, `${files}`)
  writeFileSync(file, content)
  return file
}

interface Verdicts {
  readonly ours: Finding['result']
  readonly theirs: number
}

async function verdictsOn(content: Uint8Array | string, kept: string | null = null, keys = keySet): Promise<Verdicts> {
  const [file, jwks] = [fileOf(content), fileOf(JSON.stringify(keys))]
  const notes = kept === null ? null : fileOf(kept)
  const trusted = trustedKeysOf(keys)
  const known = kept === null ? [] : parseKeptNotes(kept, 'kept').map(({ checkpoint }) => checkpoint)
  const { result } = await verifyExport({ file, keys: trusted, kept: known, budgets: [] })
  return { ours: result, theirs: await python([file, jwks, ...(notes === null ? [] : [notes])]) }
}

async function expectAgreed(
  changed: readonly (readonly [what: string, content: Uint8Array | string])[],
): Promise<void> {
  for (let from = 0; from < changed.length; from += TOGETHER)
    await Promise.all(
      changed.slice(from, from + TOGETHER).map(async ([what, content]) => {
        const { ours, theirs } = await verdictsOn(content)
        expect(theirs, what).toBe(VERDICTS[ours])
      }),
    )
}

const pair = generateKeyPairSync('ed25519')
const { x = '' } = pair.publicKey.export({ format: 'jwk' })
/** Of somebody who signs what no server would. */
const OWN_KEYS: Jwks = { keys: [{ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig', kid: 'own', x }] }

function signedNote(text: string): string {
  const [name = ''] = text.split('\n')
  const key = { name, type: SIGNATURE_TYPES.ed25519, publicKey: new Uint8Array(Buffer.from(x, 'base64url')) }
  const signature = new Uint8Array(sign(null, Buffer.from(text), pair.privateKey))
  return noteText({ text, signatures: [{ name, keyId: noteKeyId(key), signature }] })
}

const written = (these: readonly string[]) => these.map((line) => `${line}\n`).join('')
const notes = () => lines.slice(0, entriesFrom()).map((line): string => JSON.parse(line).checkpoint)
const entriesFrom = () => lines.findIndex((line) => line.startsWith('{"actor"'))

describe('the verifier in Python', () => {
  it('passes what is intact', async () => {
    expect(await verdictsOn(whole)).toEqual({ ours: 'intact', theirs: 0 })
  })

  it('agrees on bytes that were changed, lines that were removed, doubled or exchanged, and cuts', async () => {
    console.log(`SEED=${SEED}`)
    const random = seededRandom(SEED)
    const below = (limit: number) => Math.floor(random() * limit)
    const bytes = Buffer.from(whole)
    const changes: [string, Uint8Array | string][] = []
    while (changes.length < stress.python_exports) {
      const changed = Buffer.from(bytes)
      const at = below(bytes.length)
      changed[at] = below(256)
      changes.push([`byte ${at}`, changed])
      const [one, other] = [below(lines.length), below(lines.length)]
      changes.push([`without line ${one + 1}`, written(lines.toSpliced(one, 1))])
      changes.push([`line ${one + 1} twice`, written(lines.toSpliced(other, 0, lines[one] as string))])
      const [first, second] = [lines[one] as string, lines[other] as string]
      changes.push([`lines ${one + 1} and ${other + 1} exchanged`, written(lines.with(one, second).with(other, first))])
      const cut = below(bytes.length)
      changes.push([`cut at ${cut}`, bytes.subarray(0, cut)])
    }
    await expectAgreed(changes)
  })

  it('agrees on other spellings, forged entries and logs that were left out', async () => {
    const at = entriesFrom() + 7
    const [line, root] = [lines[at] as string, lines[entriesFrom() - 1] as string]
    const entry = JSON.parse(line)
    const { leaf: _, ...forged } = { ...entry, actor: 'key_forged' }
    const spending = { version: 1, committed: [{ amount: 1e308, was: 0, reserved: 0 }] }
    const { leaf: __, ...spent } = { ...entry, type: 'decision.confirmed', data: spending }
    const isOf = (one: string, log: string) => one.includes(`"log":"${log}"`) || one.includes(`/log/${log}\\n`)
    const instead = (text: string) => written(lines.with(at, text))
    await expectAgreed([
      ['a blank', instead(line.replace('{', '{ '))],
      ['an escape', instead(line.replace('"id"', '"\\u0069d"'))],
      ['an escaped slash', written(lines.with(0, (lines[0] as string).replace('/', '\\/')))],
      ['another number', instead(line.replace(/"index":(\d+)/, '"index":$1.0'))],
      ['another order', instead(JSON.stringify({ type: entry.type, ...entry }))],
      ['a member twice', instead(line.replace('"id"', '"id":"aud_x","id"'))],
      ['a carriage return', instead(`${line}\r`)],
      ['an empty line', written(lines.toSpliced(at, 0, ''))],
      ['an empty line at the end', `${whole}\n`],
      ['no newline at the end', whole.slice(0, -1)],
      ['a byte order mark', `\ufeff${whole}`],
      ['bytes that are not UTF-8', Buffer.concat([Buffer.from(whole), Buffer.from([0xff, 0x0a])])],
      ['nothing', ''],
      [
        'the leaf of another',
        instead(line.replace(/"leaf":"[^"]+"/, `"leaf":"${JSON.parse(lines[at + 1] as string).leaf}"`)),
      ],
      ['a forged entry with its own leaf', instead(canonicalJson({ ...forged, leaf: leafHash(forged) }))],
      ['a forged amount that is none', instead(canonicalJson({ ...spent, leaf: leafHash(spent) }))],
      ['a forged entry behind the end', `${whole}${canonicalJson({ ...forged, leaf: leafHash(forged) })}\n`],
      ['no entries', written(lines.slice(0, entriesFrom()))],
      ['no root', written(lines.filter((one) => one !== root))],
      ['the root twice', written(lines.toSpliced(entriesFrom(), 0, root))],
      ['no entries of a log', written(lines.filter((one) => !one.includes(`"log":"${entry.log}"`)))],
      ['nothing of a log', written(lines.filter((one) => !isOf(one, entry.log)))],
      ['logs in another order', written([...lines.slice(0, entriesFrom()), ...logsReversed()])],
    ])
  })

  /** The entries of each log in their order, and the logs from the last to the first. */
  function logsReversed(): string[] {
    const logOf = (line: string): string => JSON.parse(line).log
    const entries = lines.slice(entriesFrom())
    return [...new Set(entries.map(logOf))].reverse().flatMap((log) => entries.filter((line) => logOf(line) === log))
  }

  it('agrees on checkpoints of empty logs, which hide no others', async () => {
    const { log } = JSON.parse(lines[entriesFrom()] as string)
    const noteAt = (name: string, size: number, root: Hash) =>
      signedNote(checkpointText({ origin: `decide.example/${name}`, size, root }))
    const [emptyLog, emptyRoot] = [noteAt(`log/${log}`, 0, EMPTY_ROOT), noteAt('root', 0, EMPTY_ROOT)]
    const forged = lines.slice(entriesFrom()).map((line) => {
      const { leaf: _, ...entry } = JSON.parse(line)
      const changed = { ...entry, actor: 'key_forged' }
      return canonicalJson({ ...changed, leaf: leafHash(changed) })
    })
    const ofLogs = [emptyLog, ...notes().slice(0, -1)]
    const root = new MerkleTree()
    for (const note of ofLogs) root.append(leafHashOfText(note))
    const under = [...ofLogs, noteAt('root', root.size, root.root())].map(checkpointLine)
    const tampered = { ours: 'tampered', theirs: VERDICTS.tampered }
    for (const entries of [forged, lines.slice(entriesFrom())])
      expect(await verdictsOn(written([...under, ...entries]), null, OWN_KEYS)).toEqual(tampered)
    for (const empty of [emptyLog, emptyRoot]) {
      expect(await verdictsOn(whole, `${empty}${notes().join('')}`)).toEqual({ ours: 'intact', theirs: 0 })
      const foreign = noteAt('root', 1, EMPTY_ROOT)
      expect(await verdictsOn(whole, `${empty}${foreign}`)).toEqual(tampered)
    }
    const unknown = noteAt('log/unknown', 0, EMPTY_ROOT)
    expect(await verdictsOn(whole, unknown)).toEqual({ ours: 'intact', theirs: 0 })
  })

  it('agrees on a root log that goes on under another name, since the store was restored', async () => {
    const noteAt = (name: string, root: MerkleTree) =>
      signedNote(checkpointText({ origin: `decide.example/${name}`, size: root.size, root: root.root() }))
    const ofLogs = notes().slice(0, -1)
    const tree = new MerkleTree()
    tree.append(leafHashOfText(ofLogs[0] as string))
    const former = noteAt('root', tree)
    const ahead = new MerkleTree(tree.state)
    ahead.append(leafHashOfText('what was lost'))
    const lost = noteAt('root', ahead)
    for (const note of [former, ...ofLogs.slice(1)]) tree.append(leafHashOfText(note))
    const exportUnder = (name: string, root = noteAt(name, tree)) =>
      written([...[ofLogs[0] as string, former, ...ofLogs.slice(1), root].map(checkpointLine), ...entries])
    const entries = lines.slice(entriesFrom())
    const restored = exportUnder('root.restored')
    const problem = canonicalJson({ problem: 'The log has 3 entries, and entry 2 is missing.' })
    const cases: readonly (readonly [string, string | null, Finding['result']])[] = [
      [restored, null, 'intact'],
      [restored, `${former}${noteAt('root.restored', tree)}`, 'intact'],
      [restored, lost, 'incomplete'],
      [restored, noteAt('root.other', tree), 'tampered'],
      [restored, noteAt('root', new MerkleTree({ size: 1, hashes: [EMPTY_ROOT] })), 'tampered'],
      [exportUnder('root'), null, 'tampered'],
      [exportUnder('', noteAt('root.restored', ahead)), null, 'tampered'],
      [written([...restored.split('\n').slice(0, -3), problem]), null, 'incomplete'],
    ]
    for (const [content, kept, ours] of cases)
      expect(await verdictsOn(content, kept, OWN_KEYS)).toEqual({ ours, theirs: VERDICTS[ours] })
  })

  it('agrees on the key set of somebody else', async () => {
    const x = Buffer.alloc(32, 1).toString('base64url')
    const foreign = { keys: keySet.keys.map((key) => ({ ...key, x })) }
    const { ours, theirs } = await verdictsOn(whole, null, foreign)
    expect([ours, theirs]).toEqual(['tampered', VERDICTS.tampered])
  })

  it('agrees on checkpoints that somebody else has kept', async () => {
    for (const kept of [notes().at(-1) as string, notes().join('')])
      expect(await verdictsOn(whole, kept)).toEqual({ ours: 'intact', theirs: 0 })
    const older = written(lines.slice(0, entriesFrom()))
    const { ours, theirs } = await verdictsOn(older, notes().at(-1) as string)
    expect(theirs).toBe(VERDICTS[ours])
  })
})
