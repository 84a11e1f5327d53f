/** Gives checkpoints of the root log to those who keep them: files, and witnesses of C2SP. */
import { open, readFile } from 'node:fs/promises'
import {
  addCheckpointBody,
  addCosignatures,
  type Checkpoint,
  type Hash,
  type NoteKey,
  ProofError,
  parseCheckpoint,
  parseHash,
  parseNote,
  parseWitnessedSize,
  verifyConsistency,
} from '@countersign/audit-log'
import type { AuditSource } from './audit-source.js'
import { textWithin } from './input.js'
import { parseKeptNotes } from './kept-notes.js'
import { verifyEd25519 } from './trusted-keys.js'

export interface Witnesses {
  /** Each gets every checkpoint, beneath those that it has. */
  readonly files: readonly string[]
  /** The prefixes of witnesses. What they sign is kept in the files. */
  readonly urls: readonly string[]
  readonly keys: readonly NoteKey[]
}

const ANSWER_MS = 30_000
const ANSWER_BYTES = 64 * 1024
/** A witness whose size others change meanwhile is asked again so often. */
const ATTEMPTS = 5

/** The newest checkpoint of the root log, and how it goes on from earlier sizes. */
interface Newest {
  readonly note: string
  readonly checkpoint: Checkpoint
  readonly paths: ReadonlyMap<number, readonly Hash[]>
}

/**
 * @returns what was done, for a person
 * @throws ProofError when a checkpoint that is kept is not in the past of the newest one; Error when a witness does not sign
 */
export async function giveToWitnesses(source: AuditSource, { files, urls, keys }: Witnesses): Promise<string[]> {
  const kept = new Map<string, Checkpoint | null>()
  for (const file of files) kept.set(file, await lastOf(file))
  const done: string[] = []
  const keep = async (note: string): Promise<void> => {
    const { checkpoint } = parsed(note)
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
    const { note, paths } = await newestBehind(source, kept, oldSize)
    const { status, text } = await post(
      url,
      addCheckpointBody({ oldSize, proof: paths.get(oldSize) ?? [], checkpoint: note }),
    )
    if (status === 200) return addCosignatures(note, text, keys, verifyEd25519)
    if (status === 422)
      throw new ProofError(`The witness ${url} says that the log does not go on from what it has signed.`)
    if (status !== 409) throw new Error(`The witness ${url} ${REFUSALS.get(status) ?? 'did not sign'} (${status}).`)
    const size = parseWitnessedSize(text)
    if (size === oldSize) throw new ProofError(`The witness ${url} has signed another root of the size ${size}.`)
    oldSize = size
  }
  throw new Error(`The witness ${url} is busy: others give it checkpoints at the same time.`)
}

const REFUSALS = new Map([
  [403, 'does not know the key of this server'],
  [404, 'does not know this log'],
])

/** The newest checkpoint, which goes on from all that is kept. @throws ProofError */
async function newestBehind(
  source: AuditSource,
  kept: ReadonlyMap<string, Checkpoint | null>,
  oldSize = 0,
): Promise<Newest> {
  const newest = await newestFrom(source, [oldSize, ...[...kept.values()].map((last) => last?.size ?? 0)])
  for (const [file, last] of kept) {
    if (last === null) continue
    try {
      verifyConsistency(last, newest.checkpoint, newest.paths.get(last.size) ?? [])
    } catch (cause) {
      if (!(cause instanceof ProofError)) throw cause
      throw new ProofError(`The newest checkpoint does not go on from the last one in ${file}. ${cause.message}`, {
        cause,
      })
    }
  }
  return newest
}

/** All proofs are to one checkpoint: a server may make another one in between. */
async function newestFrom(source: AuditSource, sizes: readonly number[]): Promise<Newest> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const paths = new Map<number, readonly Hash[]>()
    const notes = new Set<string>()
    for (const size of new Set(sizes)) {
      const proof = await source.proveRoot(size)
      if (proof === null)
        throw size === 0
          ? new Error('There is no checkpoint yet. The server makes the first one soon after it starts.')
          : new ProofError(`The newest checkpoint is smaller than one that is kept, of the size ${size}.`)
      paths.set(size, proof.path.map(parseHash))
      notes.add(proof.checkpoint)
    }
    const [note = '', ...others] = notes
    if (others.length === 0) return { ...parsed(note), paths }
  }
  throw new Error('The server made a new checkpoint again and again. Repeat the command.')
}

function parsed(note: string): Pick<Newest, 'note' | 'checkpoint'> {
  return { note, checkpoint: parseCheckpoint(parseNote(note).text) }
}

async function post(url: string, body: string): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await fetch(`${url.replace(/\/+$/, '')}/add-checkpoint`, {
    method: 'POST',
    body,
    redirect: 'error',
    signal: AbortSignal.timeout(ANSWER_MS),
  })
  return { status: answer.status, text: await textWithin(answer, ANSWER_BYTES) }
}

/** The last checkpoint of a file; null when there is none, or no file. */
async function lastOf(file: string): Promise<Checkpoint | null> {
  try {
    return parseKeptNotes(await readFile(file, 'utf8'), file).at(-1)?.checkpoint ?? null
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
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
