import { z } from 'zod'
import { AuditEntrySchema } from './audit.js'
import { IdSchema } from './id.js'
import type { Immutable } from './immutable.js'
import { TimestampSchema } from './timestamp.js'

const size = () => z.int().min(0)
const hash = () => z.string().meta({ description: 'A SHA-256 in base64.' })
const position = () => z.int().min(0)

const checkpointShape = {
  origin: z.string().meta({ description: 'Names the tree: the issuer without its scheme, and the log.' }),
  size: size().meta({ description: 'How many leaves the tree had.' }),
  root: hash(),
  created_at: TimestampSchema,
  note: z.string().meta({ description: 'The signed checkpoint: a C2SP signed note.' }),
  verifier_keys: z.array(z.string()).meta({
    description:
      'The keys that may have signed the note, as C2SP verifier keys: the Ed25519 keys of `/.well-known/jwks.json` under the name of the origin.',
  }),
}

/** The newest checkpoint of a log. */
export const LogCheckpointSchema = z
  .strictObject({
    log: z.string().meta({ description: 'The audit log of one server process.' }),
    ...checkpointShape,
    root_index: position().meta({ description: 'The position of the note in the root log.' }),
  })
  .meta({ id: 'LogCheckpoint' })
export type LogCheckpoint = Immutable<z.infer<typeof LogCheckpointSchema>>

/**
 * The newest checkpoint of the root log, whose leaves are the checkpoints of all logs in the order of their creation.
 */
export const RootCheckpointSchema = z.strictObject(checkpointShape).meta({ id: 'RootCheckpoint' })
export type RootCheckpoint = Immutable<z.infer<typeof RootCheckpointSchema>>

export const CheckpointsSchema = z
  .strictObject({
    data: z.array(LogCheckpointSchema),
    root: RootCheckpointSchema.nullable().meta({ description: 'Null before the first checkpoint of any log.' }),
  })
  .meta({ id: 'Checkpoints' })
export type Checkpoints = Immutable<z.infer<typeof CheckpointsSchema>>

/** Proof that a leaf is in the tree of a checkpoint. */
const InclusionProofSchema = z
  .strictObject({
    index: position(),
    path: z
      .array(hash())
      .meta({ description: 'The hashes from the sibling of the leaf up to the one below the root.' }),
    checkpoint: z.string().meta({ description: 'The signed note of the checkpoint.' }),
    proof: z.string().meta({ description: 'The same proof as a file: a C2SP tlog-proof.' }),
  })
  .meta({ id: 'InclusionProof' })
export type InclusionProof = Immutable<z.infer<typeof InclusionProofSchema>>

export const EntryProofSchema = z
  .strictObject({
    entry: AuditEntrySchema,
    inclusion: InclusionProofSchema.nullable().meta({
      description:
        'The inclusion of the entry in the newest checkpoint of its log. Null while no checkpoint covers the entry: ask again a second later.',
    }),
    checkpoint_inclusion: InclusionProofSchema.nullable().meta({
      description:
        'The inclusion of that checkpoint in the newest checkpoint of the root log. Null without `inclusion`.',
    }),
  })
  .meta({ id: 'EntryProof' })
export type EntryProof = Immutable<z.infer<typeof EntryProofSchema>>

/** Proofs of all entries of a decision, oldest first. */
export const DecisionProofSchema = z
  .strictObject({ decision_id: IdSchema('dec'), data: z.array(EntryProofSchema) })
  .meta({ id: 'DecisionProof' })
export type DecisionProof = Immutable<z.infer<typeof DecisionProofSchema>>

export const ConsistencyProofSchema = z
  .strictObject({
    log: z.string().nullable().meta({ description: 'Null for the root log.' }),
    from: size().meta({ description: 'The size of the earlier checkpoint.' }),
    path: z.array(hash()).meta({ description: 'The consistency proof of RFC 6962 from that size to the checkpoint.' }),
    checkpoint: z.string().meta({ description: 'The signed note of the newest checkpoint.' }),
  })
  .meta({ id: 'ConsistencyProof' })
export type ConsistencyProof = Immutable<z.infer<typeof ConsistencyProofSchema>>

/** The last line of an export that the server could not complete. */
export const ExportProblemSchema = z
  .strictObject({ problem: z.string().meta({ description: 'What is missing, as a sentence.' }) })
  .meta({ id: 'ExportProblem' })

/** The line of an export that contains a checkpoint. All other lines are entries. */
export const ExportedCheckpointSchema = z
  .strictObject({ checkpoint: z.string().meta({ description: 'The signed note of a checkpoint.' }) })
  .meta({ id: 'ExportedCheckpoint' })
