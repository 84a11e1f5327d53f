import { expect, it } from 'vitest'
import { parseProofFile, proofFileText } from '#audit-log/proof-file'
import { ProofError } from '#audit-log/verify'
import { leafOf } from './reference-tree.js'

const CHECKPOINT = 'a1\n7\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n\n— a1 AAAAAAA=\n'
const PROOF = {
  index: 3,
  proof: [leafOf(Buffer.from('x')), leafOf(Buffer.from('y'))],
  checkpoint: CHECKPOINT,
}
const TEXT = proofFileText(PROOF)

it('is read as it was written', () => {
  expect(parseProofFile(TEXT)).toEqual(PROOF)
  const only = { index: 0, proof: [], checkpoint: CHECKPOINT }
  expect(parseProofFile(proofFileText(only))).toEqual(only)
})

it('may have data that nobody signs', () => {
  expect(parseProofFile(TEXT.replace('index', 'extra AAAA\nindex'))).toEqual(parseProofFile(TEXT))
})

it.each([
  ['nothing', ''],
  ['a checkpoint alone', CHECKPOINT],
  ['another version', TEXT.replace('@v1', '@v2')],
  ['an index with a zero before it', TEXT.replace('index 3', 'index 03')],
  ['no index', TEXT.replace('index 3\n', '')],
  ['an index below zero', TEXT.replace('index 3', 'index -1')],
  ['an index beyond all numbers', TEXT.replace('index 3', 'index 9007199254740993')],
  ['data twice', TEXT.replace('index', 'extra AAAA\nextra AAAA\nindex')],
  ['a hash that is cut', TEXT.replace(/=\n/, '\n')],
  ['a hash of other bytes', TEXT.replace(/\n[^\n]{44}\n/, '\nAAAA\n')],
  ['too many hashes', proofFileText({ ...PROOF, proof: Array(54).fill(PROOF.proof[0]) })],
])('is refused with %s', (_, text) => {
  expect(() => parseProofFile(text)).toThrow(ProofError)
})
