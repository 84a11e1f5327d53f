export { type Checkpoint, checkpointText, parseCheckpoint } from './checkpoint.js'
export { verifyContinuation } from './continuation.js'
export { type ProvedEntry, type TrustedKeys, verifyEntryProof } from './entry-proof.js'
export { checkpointLine, type ExportLine, LineError, parseExportLine, problemLine } from './export/line.js'
export type { ExportPlace } from './export/log-verifier.js'
export { type BudgetDifference, type RecomputedAccount, RecomputedBudgets } from './export/recomputed-budgets.js'
export {
  ExportVerifier,
  type ExportVerifierOptions,
  IncompleteError,
  lostWithRestore,
  TamperedError,
  type VerifiedExport,
} from './export/verify-export.js'
export { bytesOfLeaf, canonicalEntry, type HashableEntry, leafHash, leafHashOfText } from './leaf.js'
export {
  cosignature,
  cosignedMessage,
  type Note,
  NoteError,
  type NoteKey,
  type NoteSignature,
  noteKeyId,
  noteText,
  parseNote,
  parseVerifierKey,
  SIGNATURE_TYPES,
  type SignatureType,
  type Signer,
  signatureLine,
  type VerifyEd25519,
  verifierKey,
  verifyNote,
  verifyNoteByKeys,
} from './note.js'
export { isRootOrigin, logOfOrigin, rootOfOrigin } from './origin.js'
export { type ProofFile, parseHash, parseProofFile, proofFileText } from './proof-file.js'
export { consistencyProof, inclusionProof } from './proofs.js'
export { AccountRanges, type AccountRecord, accountId } from './records/account-ranges.js'
export {
  type BoundKind,
  checkRecord,
  checkRemoved,
  formOf,
  isAhead,
  type RecordCheck,
  withLiveRevision,
} from './records/check-record.js'
export { type EntryPlace, type Form, isSecret, type RecordDifference } from './records/comparison.js'
export { damagedRecord, damageOf } from './records/damaged-record.js'
export { agentState, keyState, webhookState } from './records/directory.js'
export { inOrderOfChanges, recordKindOf } from './records/entries-of.js'
export { detailsHash, jsonHash, metadataHash, saltedHash } from './records/hashes.js'
export {
  EMPTY_ROOT,
  type Hash,
  type LeafRange,
  MerkleTree,
  nodeHash,
  type PerfectNode,
  perfectNodesOf,
  rootOf,
  type TreeState,
} from './tree.js'
export { type Inclusion, ProofError, rootOfInclusion, type Tree, verifyConsistency, verifyInclusion } from './verify.js'
export { type AddCheckpoint, addCheckpointBody, addCosignatures, parseWitnessedSize } from './witness.js'
