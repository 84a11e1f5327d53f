/** Verifies the answer of `GET /v1/audit/proof` for one entry, for a reader that trusts only public keys. */
import type { EntryProof, InclusionProof } from '@countersign/contract'
import { type Checkpoint, parseCheckpoint } from './checkpoint.js'
import { bytesOfLeaf, leafHash, leafHashOfText } from './leaf.js'
import { NoteError, parseNote, type VerifyEd25519, verifyNoteByKeys } from './note.js'
import { isRootOrigin, logOfOrigin } from './origin.js'
import { parseHash, proofFileText } from './proof-file.js'
import type { Hash } from './tree.js'
import { ProofError, verifyInclusion } from './verify.js'

export interface TrustedKeys {
  readonly verify: VerifyEd25519
  /** The public keys that the server has signed with, 32 bytes each. */
  readonly publicKeys: readonly Uint8Array[]
}

/** The checkpoints that cover an entry. */
export interface ProvedEntry {
  readonly log: Checkpoint
  /** The signature of this checkpoint was verified. It covers the checkpoint of the log. */
  readonly root: Checkpoint
}

/**
 * Verifies that an entry is in its log, and that the log's checkpoint is in the root log, whose checkpoint one of the
 * keys has signed. The log's own checkpoint need not be signed by these keys, because that of the root log covers it.
 *
 * @param proof from any source: its members count only as far as the hashes prove them
 * @throws ProofError when it does not show that, or has no proof yet
 */
export async function verifyEntryProof(
  { entry, inclusion, checkpoint_inclusion }: EntryProof,
  { verify, publicKeys }: TrustedKeys,
): Promise<ProvedEntry> {
  if (inclusion === null || checkpoint_inclusion === null)
    throw new ProofError('The entry is not covered by a checkpoint yet. Ask for the proof again.')
  if (leafHash(entry) !== entry.leaf) throw new ProofError('The leaf hash of the entry is not that of its contents.')
  try {
    const log = proved(inclusion, bytesOfLeaf(entry.leaf))
    if (inclusion.index !== entry.index || logOfOrigin(log.origin) !== entry.log)
      throw new ProofError(
        `The proof is for entry ${inclusion.index} of ${log.origin}, not for entry ${entry.index} of log ${entry.log}.`,
      )
    const root = proved(checkpoint_inclusion, leafHashOfText(inclusion.checkpoint))
    if (!isRootOrigin(root.origin)) throw new ProofError(`${root.origin} is not a root log.`)
    await verifyNoteByKeys(parseNote(checkpoint_inclusion.checkpoint), publicKeys, verify)
    return { log, root }
  } catch (error) {
    if (!(error instanceof NoteError)) throw error
    throw new ProofError(error.message, { cause: error })
  }
}

/** @throws ProofError, NoteError */
function proved({ index, path, checkpoint, proof: file }: InclusionProof, leaf: Hash): Checkpoint {
  const proof = path.map(parseHash)
  const parsed = parseCheckpoint(parseNote(checkpoint).text)
  verifyInclusion({ leaf, index, size: parsed.size, proof }, parsed.root)
  if (proofFileText({ index, proof, checkpoint }) !== file)
    throw new ProofError('The proof in its file form is a different one.')
  return parsed
}
