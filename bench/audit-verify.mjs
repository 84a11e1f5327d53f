/**
 * How long `countersign audit verify` takes for an export of 100,000 entries by three writers, beside the verifier in Python of docs/,
 * and beside a program that hashes each line and checks nothing. Whole processes, one at a time; they take turns, and ratios are
 * taken inside a round. Half of the entries are of decisions with a budget, which the command adds up.
 * Run: node bench/audit-verify.mjs (ROUNDS=1 for a look)
 */
import { spawnSync } from 'node:child_process'
import { generateKeyPairSync, sign } from 'node:crypto'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  bytesOfLeaf,
  canonicalEntry,
  checkpointLine,
  checkpointText,
  leafHash,
  leafHashOfText,
  MerkleTree,
  noteKeyId,
  noteText,
} from '@countersign/audit-log'
import { inTurns, median, ratioOf } from './parts/figures.mjs'
import { printTable } from './parts/table.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 5)
const ENTRIES = 100_000
const LOGS = ['a', 'b', 'c']
const CHECKPOINT_ENTRIES = 256
const ISSUER = 'bench.example'
const COMMAND = fileURLToPath(new URL('../server/bin/countersign.js', import.meta.url))
const PYTHON = fileURLToPath(new URL('../docs/verify_audit.py', import.meta.url))
const HASH_EACH_LINE = `
const { createHash } = require('node:crypto')
const lines = require('node:readline').createInterface({ input: require('node:fs').createReadStream(process.argv[1]) })
lines.on('line', (line) => createHash('sha256').update(line).digest())`

const { publicKey, privateKey } = generateKeyPairSync('ed25519')
const jwk = publicKey.export({ format: 'jwk' })
const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
try {
  const [file, jwks] = [join(folder, 'export.ndjson'), join(folder, 'jwks.json')]
  writeFileSync(file, exportText())
  writeFileSync(jwks, JSON.stringify({ keys: [{ ...jwk, alg: 'EdDSA', use: 'sig', kid: 'bench' }] }))
  const cases = {
    'countersign audit verify': () => timeOf(process.execPath, [COMMAND, 'audit', 'verify', file, '--jwks', jwks]),
    'verify_audit.py': () => timeOf('python3', [PYTHON, file, jwks]),
    'hash of each line': () => timeOf(process.execPath, ['-e', HASH_EACH_LINE, file]),
  }
  report(await inTurns(ROUNDS, cases), statSync(file).size)
} finally {
  rmSync(folder, { recursive: true })
}

function timeOf(program, args) {
  const started = performance.now()
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stdout}${stderr}`)
  return (performance.now() - started) / 1000
}

function report(figures, bytes) {
  console.log(`medians of ${ROUNDS} rounds, ${ENTRIES} entries, ${(bytes / 1e6).toFixed(0)} MB`)
  console.log('')
  printTable(
    ['', 's', 'entries/s', 'x'],
    Object.entries(figures).map(([name, seconds]) => [
      name,
      median(seconds).toFixed(2),
      (ENTRIES / median(seconds)).toFixed(0),
      `${ratioOf(seconds, figures['hash of each line']).toFixed(1)}x`,
    ]),
  )
}

function exportText() {
  const root = new MerkleTree()
  const checkpoints = []
  const entries = LOGS.flatMap((log, at) => {
    const tree = new MerkleTree()
    const size = Math.floor((ENTRIES * (at + 1)) / LOGS.length) - Math.floor((ENTRIES * at) / LOGS.length)
    return Array.from({ length: size }, (_, index) => {
      const entry = entryOf(log, index)
      tree.append(bytesOfLeaf(entry.leaf))
      if (tree.size % CHECKPOINT_ENTRIES === 0 || tree.size === size) {
        const note = signedNote(`${ISSUER}/log/${log}`, tree)
        checkpoints.push(note)
        root.append(leafHashOfText(note))
      }
      return Buffer.from(canonicalEntry(entry)).toString()
    })
  })
  const lines = [...[...checkpoints, signedNote(`${ISSUER}/root`, root)].map(checkpointLine), ...entries]
  return `${lines.join('\n')}\n`
}

function signedNote(origin, tree) {
  const text = checkpointText({ origin, size: tree.size, root: tree.root() })
  const keyId = noteKeyId({ name: origin, type: 1, publicKey: Buffer.from(jwk.x, 'base64url') })
  const signature = new Uint8Array(sign(null, Buffer.from(text), privateKey))
  return noteText({ text, signatures: [{ name: origin, keyId, signature }] })
}

function entryOf(log, index) {
  const budget = {
    policy_id: 'pol_1',
    unit: 'EUR',
    amount: 42.5,
    period: 'daily',
    starts_at: '2026-11-21T00:00:00.000Z',
  }
  const money =
    index % 2 === 0 ? { budgets: [{ ...budget, reserved: true }], accounts: [{ limit: 1e9, agent_id: null }] } : {}
  const entry = {
    id: `aud_${log}${String(index).padStart(25, '0')}`,
    log,
    index,
    at: '2026-11-21T10:00:00.000Z',
    type: 'decision.created',
    actor: 'key_01kagx1v5ne8sr6w1y6gqk4t2h',
    subject: `dec_${log}${String(index).padStart(25, '0')}`,
    agent_id: 'agent:support-7',
    data: { version: 1, effect: 'allow', status: 'authorized', action: 'payment.refund', latency_ms: 0.021, ...money },
  }
  return { ...entry, leaf: leafHash(entry) }
}
