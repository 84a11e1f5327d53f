/** Builds proofs from an export: the same that its server would have given for those checkpoints. */
import {
  bytesOfLeaf,
  type ExportLine,
  type Hash,
  IncompleteError,
  inclusionProof,
  type LeafRange,
  leafHashOfText,
  logOfOrigin,
  MerkleTree,
  parseCheckpoint,
  parseExportLine,
  parseNote,
  proofFileText,
} from '@countersign/audit-log'
import type { AuditEntry, DecisionProof, InclusionProof } from '@countersign/contract'
import { openBytes } from './input.js'
import { linesOf } from './lines.js'

/** A leaf to prove: of a log, or with null of the root log. */
class WantedProof {
  readonly #parts: readonly { readonly range: LeafRange; readonly tree: MerkleTree }[]

  constructor(
    readonly log: string | null,
    readonly index: number,
    /** The signed note of the checkpoint. */
    private readonly checkpoint: string,
  ) {
    const { size } = parseCheckpoint(parseNote(checkpoint).text)
    this.#parts = inclusionProof(index, size).map((range) => ({ range, tree: new MerkleTree() }))
  }

  /** Takes the leaves of the log in their order. */
  add(index: number, leaf: Hash): void {
    for (const { range, tree } of this.#parts) if (index >= range.from && index < range.to) tree.append(leaf)
  }

  view(): InclusionProof {
    const { index, checkpoint } = this
    const proof = this.#parts.map(({ tree }) => tree.root())
    const path = proof.map((hash) => Buffer.from(hash).toString('base64'))
    return { index, path, checkpoint, proof: proofFileText({ index, proof, checkpoint }) }
  }
}

/** The parts of an export that are to be proved. */
interface Found {
  /** By log: its newest checkpoint, and the position of that checkpoint in the root log. */
  readonly newest: ReadonlyMap<string, { readonly note: string; readonly index: number }>
  /** The checkpoint of the root log. */
  readonly root: string | null
  /** All entries of the decision. */
  readonly entries: readonly AuditEntry[]
}

/**
 * Reads the file twice: for the entries to prove, and for the hashes that prove them. It does not verify the export: a
 * program that verifies the proof finds any fault.
 *
 * @throws LineError when a line is not one of an export; IncompleteError when the file was cut off
 */
export async function proveFromExport(file: string, decisionId: string): Promise<DecisionProof> {
  const { newest, root, entries } = await find(file, decisionId)
  const wanted = entries.map((entry) => {
    const checkpoint = newest.get(entry.log)
    if (checkpoint === undefined || root === null) return { entry, proofs: null }
    const inclusion = new WantedProof(entry.log, entry.index, checkpoint.note)
    return { entry, proofs: { inclusion, above: new WantedProof(null, checkpoint.index, root) } }
  })
  await collect(
    file,
    wanted.flatMap(({ proofs }) => (proofs === null ? [] : [proofs.inclusion, proofs.above])),
  )
  const data = wanted.map(({ entry, proofs }) => {
    return { entry, inclusion: proofs?.inclusion.view() ?? null, checkpoint_inclusion: proofs?.above.view() ?? null }
  })
  return { decision_id: decisionId, data }
}

async function find(file: string, decisionId: string): Promise<Found> {
  const newest = new Map<string, { note: string; index: number }>()
  const entries: AuditEntry[] = []
  let root: string | null = null
  let index = 0
  for await (const line of linesIn(file)) {
    if (line.kind === 'problem') throw new IncompleteError(line.problem)
    if (line.kind === 'entry') {
      if (line.entry.subject === decisionId) entries.push(line.entry)
      continue
    }
    const log = logOfOrigin(parseCheckpoint(parseNote(line.note).text).origin)
    if (log === null) root = line.note
    else newest.set(log, { note: line.note, index })
    index += 1
  }
  const oldestFirst = (one: AuditEntry, other: AuditEntry) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0)
  return { newest, root, entries: entries.sort(oldestFirst) }
}

async function collect(file: string, wanted: readonly WantedProof[]): Promise<void> {
  let checkpoints = 0
  for await (const line of linesIn(file)) {
    if (line.kind === 'problem') return
    const isEntry = line.kind === 'entry'
    const log = isEntry ? line.entry.log : null
    const index = isEntry ? line.entry.index : checkpoints++
    const leaf = isEntry ? bytesOfLeaf(line.entry.leaf) : leafHashOfText(line.note)
    for (const one of wanted) if (one.log === log) one.add(index, leaf)
  }
}

async function* linesIn(file: string): AsyncGenerator<ExportLine> {
  for await (const line of linesOf((await openBytes(file)).chunks)) yield parseExportLine(line)
}
