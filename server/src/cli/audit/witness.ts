/** Gives checkpoints of the root log to those who keep them: files, and witnesses of C2SP. */
import { open } from 'node:fs/promises'
import {
  addCheckpointBody,
  addCosignatures,
  type Checkpoint,
  type Hash,
  NoteError,
  type NoteKey,
  ProofError,
  parseHash,
  parseWitnessedSize,
  verifyConsistency,
} from '@countersign/audit-log'
import { statIfThere } from '@countersign/durable-files'
import { CommandError, EXIT } from '../exit.js'
import type { AuditSource } from './audit-source.js'
import { fetchText, type TextAnswer } from './fetch-text.js'
import { readText } from './input.js'
import { type KeptNote, parseKeptNote, parseKeptNotes } from './kept-notes.js'
import { verifyEd25519 } from './trusted-keys.js'

export interface Witnesses {
  /** Each gets every checkpoint, beneath those that it has. */
  readonly files: readonly string[]
  /** The prefixes of witnesses. What they sign is kept in the files. */
  readonly urls: readonly string[]
  readonly keys: readonly NoteKey[]
}

const ANSWER_LIMITS = { maxBytes: 64 * 1024, withinMs: 30_000 }
/** A witness whose size others change meanwhile is asked again so often. */
const ATTEMPTS = 5

/** The newest checkpoint of the root log, and how it goes on from earlier sizes. */
interface Newest extends KeptNote {
  /** By the size; those that it does not reach have none. */
  readonly paths: ReadonlyMap<number, readonly Hash[]>
}

/**
 * @returns what was done, for a person
 * @throws ProofError when a checkpoint that is kept is not in the past of the newest one; CommandError when a witness
 * does not sign: what it says shows nothing about the log
 */
export async function giveToWitnesses(source: AuditSource, { files, urls, keys }: Witnesses): Promise<string[]> {
  const kept = new Map<string, Checkpoint | null>()
  for (const file of files) kept.set(file, await lastOf(file))
  const done: string[] = []
  const keep = async (note: string): Promise<void> => {
    const { checkpoint } = parseKeptNote(note)
    for (const [file, last] of kept) {
      if (urls.length === 0 && last?.size === checkpoint.size) continue
      await append(file, note)
      kept.set(file, checkpoint)
      done.push(`${file}: added ${checkpoint.origin} at ${checkpoint.size}`)
    }
  }
  for (const url of urls) await keep(await cosigned(source, url, keys, kept))
  if (urls.length === 0 && files.length > 0) await keep((await newestBehind(source, kept)).note)
  return done
}

/** @returns the newest checkpoint with the signature of the witness */
async function cosigned(
  source: AuditSource,
  url: string,
  keys: readonly NoteKey[],
  kept: ReadonlyMap<string, Checkpoint | null>,
): Promise<string> {
  // What is kept last is mostly what this witness has signed last.
  let oldSize = [...kept.values()].at(0)?.size ?? 0
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const { note, checkpoint, paths } = await newestBehind(source, kept, oldSize)
    const proof = paths.get(oldSize)
    if (proof === undefined)
      throw failure(
        `The witness ${url} says that it has signed the size ${oldSize}, but the newest checkpoint has ${checkpoint.size}. ` +
          `Either the witness is wrong, or the server has lost what it had. ${COMPARE}`,
      )
    const { status, text } = await post(url, addCheckpointBody({ oldSize, proof, checkpoint: note }))
    if (status === 422)
      throw failure(`The witness ${url} says that the log does not go on from what it has signed (422). ${COMPARE}`)
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
  throw failure(`The witness ${url} is busy: others give it checkpoints at the same time.`)
}

const REFUSALS = new Map([
  [403, 'does not know the key of this server'],
  [404, 'does not know this log'],
])

/** What a witness says is only its word: what somebody has kept proves it. */
const COMPARE = 'Compare the log with the checkpoints that others keep: `countersign audit verify --kept`.'

function failure(message: string, cause?: unknown): CommandError {
  return new CommandError(EXIT.failure, message, { cause })
}

/** What it means that a witness refuses the size that it says it has signed. */
function refusalOfSize(url: string, size: number, checkpoint: Checkpoint): CommandError {
  return size === checkpoint.size
    ? failure(`The witness ${url} says that it has signed another root of the size ${size} (409). ${COMPARE}`)
    : failure(`The witness ${url} refuses the size ${size}, which it says that it has signed last (409).`)
}

/** The newest checkpoint, which goes on from all that is kept. @throws ProofError */
async function newestBehind(
  source: AuditSource,
  kept: ReadonlyMap<string, Checkpoint | null>,
  oldSize = 0,
): Promise<Newest> {
  const newest = await newestFrom(source, [oldSize, ...[...kept.values()].map((last) => last?.size ?? 0)])
  for (const [file, last] of kept) {
    if (last === null) continue
    if (newest === null) throw new ProofError(`There is no checkpoint any more, but ${file} keeps one.`)
    try {
      verifyConsistency(last, newest.checkpoint, newest.paths.get(last.size) ?? [])
    } catch (cause) {
      if (!(cause instanceof ProofError)) throw cause
      throw new ProofError(`The newest checkpoint does not go on from the last one in ${file}. ${cause.message}`, {
        cause,
      })
    }
  }
  if (newest === null) throw failure('There is no checkpoint yet. The server makes the first one soon after it starts.')
  return newest
}

/**
 * All proofs are to one checkpoint: a server may make another one in between.
 *
 * @returns null when there is no checkpoint
 */
async function newestFrom(source: AuditSource, sizes: readonly number[]): Promise<Newest | null> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const paths = new Map<number, readonly Hash[]>()
    const notes = new Set<string>()
    // Every checkpoint reaches 0.
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

/** The last checkpoint of a file; null when there is none, or no file. */
async function lastOf(file: string): Promise<Checkpoint | null> {
  const there = statIfThere(file)
  if (there === undefined) return null
  if (!there.isFile()) throw failure(`${file} is no file, and keeps nothing. Name a file with --witness.`)
  return parseKeptNotes(await readText(file), file).at(-1)?.checkpoint ?? null
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
