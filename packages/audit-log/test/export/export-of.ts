/** Exports as a server writes them, of entries that were never written. */
import { generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import {
  canonicalEntry,
  checkpointLine,
  checkpointText,
  leafHash,
  leafHashOfText,
  MerkleTree,
  type NoteKey,
  noteKeyId,
  noteText,
  type VerifyEd25519,
} from '@countersign/audit-log'
import type { AuditEntry } from '@countersign/contract'

const ISSUER = 'decisions.example'
const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex')

const pair = generateKeyPairSync('ed25519')
export const publicKey = new Uint8Array(pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32))
export const verifyEd25519: VerifyEd25519 = (key, message, signature) =>
  verify(null, message, { key: Buffer.concat([SPKI_HEAD, key]), format: 'der', type: 'spki' }, signature)

export function signed(text: string, key: KeyObject = pair.privateKey): string {
  const noteKey: NoteKey = { name: ISSUER, type: 1, publicKey }
  const signature = new Uint8Array(sign(null, Buffer.from(text), key))
  return noteText({ text, signatures: [{ name: ISSUER, keyId: noteKeyId(noteKey), signature }] })
}

export function entryOf(log: string, index: number, changes: Partial<AuditEntry> = {}): AuditEntry {
  const entry = {
    id: `aud_${log}${index}`,
    log,
    index,
    at: new Date(Date.UTC(2026, 10, 24) + index).toISOString(),
    type: 'decision.created',
    actor: 'key_1',
    subject: `dec_${log}${index}`,
    agent_id: 'agent:søren',
    data: { version: 1, status: 'denied', latency_ms: 0.25 },
    ...changes,
  } as const
  return { ...entry, leaf: leafHash(entry) }
}

export interface Export {
  readonly lines: readonly string[]
  /** The signed note of each checkpoint, in the order of the lines. */
  readonly notes: readonly string[]
}

/** Checkpoints of all logs in turn, each `every` entries, and the entries log by log. */
export function exportOf(logs: readonly (readonly AuditEntry[])[], every = 7, key?: KeyObject): Export {
  const open = logs.filter((entries) => entries.length > 0).map((entries) => ({ entries, tree: new MerkleTree() }))
  const notes: string[] = []
  while (open.some(({ entries, tree }) => tree.size < entries.length))
    for (const { entries, tree } of open) {
      const next = entries.slice(tree.size, tree.size + every)
      for (const { leaf } of next) tree.append(new Uint8Array(Buffer.from(leaf, 'base64url')))
      if (next.length > 0) notes.push(noteOf(`log/${entries[0]?.log}`, tree, key))
    }
  return exportUnder(
    notes,
    open.flatMap(({ entries }) => entries),
    key,
  )
}

/** The signed checkpoint of a tree. */
export function noteOf(name: string, tree: MerkleTree, key?: KeyObject): string {
  return signed(checkpointText({ origin: `${ISSUER}/${name}`, size: tree.size, root: tree.root() }), key)
}

/** Entries behind these checkpoints of logs, and that of the root log over them. */
export function exportUnder(ofLogs: readonly string[], entries: readonly AuditEntry[], key?: KeyObject): Export {
  const root = new MerkleTree()
  for (const note of ofLogs) root.append(leafHashOfText(note))
  const notes = [...ofLogs, noteOf('root', root, key)]
  const lines = entries.map((entry) => new TextDecoder().decode(canonicalEntry(entry)))
  return { lines: [...notes.map(checkpointLine), ...lines], notes }
}
