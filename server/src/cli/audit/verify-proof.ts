import { ProofError, type ProvedEntry, verifyEntryProof } from '@countersign/audit-log'
import {
  type DecisionProof,
  DecisionProofSchema,
  type EntryProof,
  type Jwks,
  type PermitClaims,
} from '@countersign/contract'
import { any, createPermitVerifier, PermitError } from '@countersign/permit'
import { readJson } from './input.js'
import { permitClaimsOf, readPermit } from './permit-file.js'
import { trustedKeysOf } from './trusted-keys.js'
import { counted, type Finding, findingOf } from './verdict.js'

export interface VerifyProofOptions {
  readonly proof: string
  readonly permit: string | undefined
  readonly keySet: Jwks
}

/** Verifies all entries of a proof, that they belong to its decision, and that a permit names one of them. */
export async function verifyProof({ proof: file, permit, keySet }: VerifyProofOptions): Promise<Finding> {
  const proof: DecisionProof = await readJson(file, DecisionProofSchema, 'a proof of a decision')
  try {
    const lines = permit === undefined ? [] : await linesOfPermit(await readPermit(permit), proof, keySet)
    assertOfDecision(proof)
    const proved: [EntryProof, ProvedEntry][] = []
    for (const one of proof.data) if (one.inclusion !== null) proved.push([one, await verified(one, keySet)])
    const uncovered = proof.data.find(({ inclusion }) => inclusion === null)
    if (uncovered !== undefined)
      return {
        result: 'incomplete',
        lines: [`${placeOf(uncovered)} is not covered by a checkpoint yet. Prove it again.`],
      }
    if (proof.data.length === 0) return { result: 'incomplete', lines: ['The proof has no entry.'] }
    return intact(proof, proved, lines)
  } catch (error) {
    return error instanceof PermitError ? ofPermit(error) : findingOf(error)
  }
}

/** @throws ProofError when an entry belongs to another decision, or is repeated */
function assertOfDecision({ decision_id, data }: DecisionProof): void {
  const seen = new Set<string>()
  for (const one of data) {
    const { subject, log, index } = one.entry
    const place = `${log} ${index}`
    if (subject !== decision_id)
      throw new ProofError(`${placeOf(one)}: It belongs to ${subject}, not to ${decision_id}.`)
    if (seen.has(place)) throw new ProofError(`${placeOf(one)}: It is in the proof twice.`)
    seen.add(place)
  }
}

async function verified(one: EntryProof, keySet: Jwks): Promise<ProvedEntry> {
  try {
    return await verifyEntryProof(one, trustedKeysOf(keySet))
  } catch (cause) {
    if (!(cause instanceof ProofError)) throw cause
    throw new ProofError(`${placeOf(one)}: ${cause.message}`, { cause })
  }
}

function intact(proof: DecisionProof, proved: readonly [EntryProof, ProvedEntry][], lines: readonly string[]): Finding {
  return {
    result: 'intact',
    lines: [
      `${counted(proved.length, 'entry', 'entries')} of ${proof.decision_id} in the audit log.`,
      ...proved.map(
        ([one, { root }]) =>
          `  ${placeOf(one)}: ${one.entry.type}, ${one.entry.at}, under ${root.origin} at ${root.size}`,
      ),
      ...lines,
    ],
    details: {
      decision_id: proof.decision_id,
      entries: proved.map(([{ entry }, { root }]) => ({
        ...{ entry_id: entry.id, log: entry.log, index: entry.index, type: entry.type },
        root: { origin: root.origin, size: root.size, root: Buffer.from(root.root).toString('base64') },
      })),
    },
  }
}

/**
 * @returns further remarks about the permit
 * @throws PermitError; ProofError when the proof lacks the entry that the permit names
 */
async function linesOfPermit(token: string, proof: DecisionProof, keySet: Jwks): Promise<string[]> {
  const claims = await signedClaims(token, keySet)
  const { log, index, leaf } = claims.audit
  const found = proof.data.find(({ entry }) => entry.log === log && entry.index === index)
  if (found === undefined || found.entry.leaf !== leaf || found.entry.subject !== claims.jti)
    throw new ProofError(
      `The proof is not for this permit, which names entry ${index} of log ${log}, of ${claims.jti}, with the leaf ${leaf}.`,
    )
  const end = new Date(claims.exp * 1000)
  const state =
    end.getTime() <= Date.now() ? `expired at ${end.toISOString()}, which is not an error here` : 'is in force'
  return [`  The permit of ${claims.jti} names entry ${index} of log ${log}. It ${state}.`]
}

/** Returns the claims if one of the keys has signed them. Audience, purpose and expiry do not matter. */
async function signedClaims(token: string, jwks: Jwks): Promise<PermitClaims> {
  const { iss: issuer, aud: audience, iat } = permitClaimsOf(token)
  const verifier = createPermitVerifier({ issuer, audience, jwks, seen: false, now: () => iat * 1000 })
  return verifier.verify(token, { action: any, resource: any, allowLog: true })
}

function ofPermit({ message, code }: PermitError): Finding {
  return { result: 'tampered', lines: [`The permit: ${message}`], details: { permit_error: code } }
}

function placeOf({ entry }: EntryProof): string {
  return `Entry ${entry.index} of log ${entry.log} (${entry.id})`
}
