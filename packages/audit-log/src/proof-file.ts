/** A proof as a file: it shows offline that an entry is in the log of a checkpoint. Source: C2SP tlog-proof. */
import { fromBase64, toBase64 } from './base64.js'
import { HASH_BYTES, type Hash, isSize } from './tree.js'
import { ProofError } from './verify.js'

export interface ProofFile {
  readonly index: number
  /** From the sibling of the leaf up to the one below the root. */
  readonly proof: readonly Hash[]
  /** The signed note of the checkpoint, unchanged. */
  readonly checkpoint: string
}

const FIRST_LINE = 'c2sp.org/tlog-proof@v1'
/** Enough for any tree whose size is a safe integer. */
const MAX_HASHES = 53

export function proofFileText({ index, proof, checkpoint }: ProofFile): string {
  return `${[FIRST_LINE, `index ${index}`, ...proof.map(toBase64)].join('\n')}\n\n${checkpoint}`
}

/**
 * Skips an `extra` line, which other programs may write and which is not signed.
 *
 * @throws ProofError when it is not a file of this form; the proof itself is not verified
 */
export function parseProofFile(text: string): ProofFile {
  const end = text.indexOf('\n\n')
  const [first, ...rest] = end < 0 ? [] : text.slice(0, end).split('\n')
  if (first !== FIRST_LINE) throw new ProofError(`It is not a proof: it does not begin with ${FIRST_LINE}.`)
  if (rest[0]?.startsWith('extra ')) rest.shift()
  const [line = '', ...hashes] = rest
  const index = Number(/^index (0|[1-9]\d*)$/.exec(line)?.[1] ?? Number.NaN)
  if (!isSize(index)) throw new ProofError('The index of the proof is not a number.')
  if (hashes.length > MAX_HASHES) throw new ProofError(`The proof has more than ${MAX_HASHES} hashes.`)
  return { index, proof: hashes.map(parseHash), checkpoint: text.slice(end + 2) }
}

/** @throws ProofError */
export function parseHash(text: string): Hash {
  const hash = fromBase64(text)
  if (hash?.length !== HASH_BYTES) throw new ProofError('A hash of the proof is not a SHA-256 in base64.')
  return hash
}
