/** Sends checkpoints of the root log to their keepers: files, and C2SP witnesses. */
import { open } from 'node:fs/promises'
import {
  addCheckpointBody,
  addCosignatures,
  type Checkpoint,
  type Hash,
  IncompleteError,
  NoteError,
  type NoteKey,
  ProofError,
  parseHash,
  parseWitnessedSize,
  verifyConsistency,
} from '@countersign/audit-log'
import { statIfThere } from '../../durable-files/stat-if-there.js'
import { verifyEd25519 } from '../../use-cases/audit/verify-ed25519.js'
import { type CommandError, failure } from '../exit.js'
import type { AuditSource } from './audit-source.js'
import { fetchText, type TextAnswer } from './fetch-text.js'
import { readText } from './input.js'
import { type KeptNote, parseKeptNote, parseKeptNotes } from './kept-notes.js'
import { whyOlder } from './lost-with-restore.js'

export interface Witnesses {
  /** Each file gets every checkpoint, after those that it has. */
  readonly files: readonly string[]
  /** The URL prefixes of witnesses. Their signatures are kept in the files. */
  readonly urls: readonly string[]
  readonly keys: readonly NoteKey[]
}

const ANSWER_LIMITS = { maxBytes: 64 * 1024, withinMs: 30_000 }
/** How often a witness is asked when others keep changing its size. */
const ATTEMPTS = 5

/** By file, the checkpoints in it. */
type Kept = ReadonlyMap<string, readonly Checkpoint[]>

/** The newest checkpoint of the root log, and how it extends earlier sizes. */
interface Newest extends KeptNote {
  /** By size; sizes that it does not reach have none. */
  readonly paths: ReadonlyMap<number, readonly Hash[]>
}

/**
 * @returns what was done, for a person
 * @throws ProofError when a kept checkpoint is not in the past of the newest one; IncompleteError when it is newer than
 *   what the store was restored to; CommandError when a witness does not sign: its answer shows nothing about the log
 */
export async function giveToWitnesses(source: AuditSource, { files, urls, keys }: Witnesses): Promise<string[]> {
  const kept = new Map<string, readonly Checkpoint[]>()
  for (const file of files) kept.set(file, await checkpointsOf(file))
  const done: string[] = []
  const keep = async (note: string): Promise<void> => {
    const { checkpoint } = parseKeptNote(note)
    for (const [file, earlier] of kept) {
      if (urls.length === 0 && earlier.at(-1)?.size === checkpoint.size) continue
      await append(file, note)
      kept.set(file, [...earlier, checkpoint])
      done.push(`${file}: added ${checkpoint.origin} at ${checkpoint.size}`)
    }
  }
  for (const url of urls) await keep(await cosigned(source, url, keys, kept))
  if (urls.length === 0 && files.length > 0) await keep((await newestBehind(source, kept)).note)
  return done
}

/** @returns the newest checkpoint with the signature of the witness */
async function cosigned(source: AuditSource, url: string, keys: readonly NoteKey[], kept: Kept): Promise<string> {
  // The last kept checkpoint is mostly the last one that this witness has signed.
  let oldSize = [...kept.values()].at(0)?.at(-1)?.size ?? 0
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const { note, checkpoint, paths } = await newestBehind(source, kept, oldSize)
    const proof = paths.get(oldSize)
    if (proof === undefined)
      throw failure(
        `The witness ${url} says that it has signed the size ${oldSize}, but the newest checkpoint has ${checkpoint.size}. ` +
          `Either the witness is wrong, or the server has lost data. ${COMPARE}`,
      )
    const { status, text } = await post(url, addCheckpointBody({ oldSize, proof, checkpoint: note }))
    if (status === 422)
      throw failure(`The witness ${url} says that the log does not continue from what it has signed (422). ${COMPARE}`)
    if (status !== 200 && status !== 409)
      throw failure(`The witness ${url} ${REFUSALS.get(status) ?? 'did not sign'} (${status}).`)
    try {
      if (status === 200) return await addCosignatures(note, text, keys, verifyEd25519)
      const size = parseWitnessedSize(text)
      if (size === oldSize) throw refusalOfSize(url, size, checkpoint)
      oldSize = size
    } catch (cause) {
      if (!(cause instanceof NoteError)) throw cause
      throw failure(`The witness ${url}: ${cause.message}`, cause)
    }
  }
  throw failure(`The witness ${url} is busy: others are sending it checkpoints at the same time.`)
}

const REFUSALS = new Map([
  [403, 'does not know the key of this server'],
  [404, 'does not know this log'],
])

/** A witness only gives its word; a kept checkpoint proves it. */
const COMPARE = 'Compare the log with the checkpoints that others keep: `countersign audit verify --kept`.'

/** Explains why a witness refuses the size that it says it has signed. */
function refusalOfSize(url: string, size: number, checkpoint: Checkpoint): CommandError {
  return size === checkpoint.size
    ? failure(`The witness ${url} says that it has signed another root of the size ${size} (409). ${COMPARE}`)
    : failure(`The witness ${url} refuses the size ${size}, which it says that it has signed last (409).`)
}

/** Returns the newest checkpoint, which extends everything that is kept. @throws ProofError, IncompleteError */
async function newestBehind(source: AuditSource, kept: Kept, oldSize = 0): Promise<Newest> {
  const newest = await newestFrom(source, [oldSize, ...[...kept.values()].map((earlier) => earlier.at(-1)?.size ?? 0)])
  for (const [file, earlier] of kept) {
    const last = earlier.at(-1)
    if (last === undefined) continue
    if (newest === null) throw new ProofError(`There is no checkpoint left, but ${file} keeps one.`)
    try {
      verifyConsistency(last, newest.checkpoint, newest.paths.get(last.size) ?? [])
    } catch (cause) {
      if (!(cause instanceof ProofError)) throw cause
      const older = await whyOlder(source, earlier, newest.checkpoint)
      if (older !== null) throw new IncompleteError(`${older.message} ${file} was not added to: begin a new file.`)
      throw new ProofError(`The newest checkpoint does not continue from the last one in ${file}. ${cause.message}`, {
        cause,
      })
    }
  }
  if (newest === null) throw failure('There is no checkpoint yet. The server makes the first one soon after it starts.')
  return newest
}

/**
 * All proofs are for one checkpoint, because a server may create another one in between.
 *
 * @returns null when there is no checkpoint
 */
async function newestFrom(source: AuditSource, sizes: readonly number[]): Promise<Newest | null> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const paths = new Map<number, readonly Hash[]>()
    const notes = new Set<string>()
    // Every checkpoint extends size 0.
    for (const size of new Set([0, ...sizes])) {
      const proof = await source.proveRoot(size)
      if (proof === null) continue
      paths.set(size, proof.path.map(parseHash))
      notes.add(proof.checkpoint)
    }
    const [note, ...others] = notes
    if (note === undefined) return null
    if (others.length === 0) return { ...parseKeptNote(note), paths }
  }
  throw failure('The server made a new checkpoint again and again. Repeat the command.')
}

function post(url: string, body: string): Promise<TextAnswer> {
  const init = { method: 'POST', body, redirect: 'manual' } as const
  return fetchText(`${url.replace(/\/+$/, '')}/add-checkpoint`, ANSWER_LIMITS, init)
}

/** The checkpoints of a file; none when there is no file. */
async function checkpointsOf(file: string): Promise<readonly Checkpoint[]> {
  const there = statIfThere(file)
  if (there === undefined) return []
  if (!there.isFile()) throw failure(`${file} is not a file, so nothing is kept. Name a file with --witness.`)
  return parseKeptNotes(await readText(file), file).map(({ checkpoint }) => checkpoint)
}

/** Durable when it resolves. */
async function append(file: string, text: string): Promise<void> {
  const handle = await open(file, 'a', 0o644)
  try {
    await handle.appendFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}
