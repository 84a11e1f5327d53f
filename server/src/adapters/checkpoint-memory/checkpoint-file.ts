/**
 * `DATA_DIR/checkpoints.ndjson`: what this server has signed and seen of the audit logs. Each checkpoint is appended,
 * so that its cost does not grow with the logs. The file is rewritten when most of it is out of date.
 */
import { constants } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assertNoFolder } from '../../durable-files/assert-no-folder.js'
import { replaceFile } from '../../durable-files/replace-file.js'
import { orNull, statIfThere } from '../../durable-files/stat-if-there.js'
import type {
  CheckpointMemory,
  Remembered,
  RememberedTrees,
  UnsavedCheckpoints,
} from '../../ports/checkpoint-memory.js'
import { areCheckpointsKept } from '../keyring/keyring.js'
import {
  after,
  FORMAT_LINE,
  givenUpFor,
  linesOf,
  parseLine,
  SAVED_LINE,
  seenLine,
  textOf,
  UPGRADED_LINE,
  unsavedLine,
} from './memory-lines.js'

/** How many bytes are appended before the file is rewritten, and at least as many as the rewritten file had. */
const APPENDED_BYTES = 1024 * 1024

type Line = Parameters<typeof textOf>[0][number]

function checkpointFile(dataDir: string): string {
  return join(dataDir, 'checkpoints.ndjson')
}

/** Whether this server has signed or seen a checkpoint before. */
export function isRemembering(dataDir: string): boolean {
  return statIfThere(checkpointFile(dataDir)) !== undefined
}

/**
 * Creates the memory where there is none.
 *
 * @param isNew false: this server has served before, with a release that remembered nothing
 */
export async function beginMemory(dataDir: string, isNew: boolean): Promise<void> {
  if (isRemembering(dataDir)) return
  await replaceFile(checkpointFile(dataDir), textOf(isNew ? [FORMAT_LINE] : [FORMAT_LINE, UPGRADED_LINE]))
}

/** Records that the store was restored: it may lack what was signed. */
export async function rememberRestore(dataDir: string): Promise<void> {
  const givenUp = givenUpFor(null, await new CheckpointFile(dataDir).read())
  await replaceFile(checkpointFile(dataDir), textOf(linesOf({ kind: 'restored', givenUp })))
}

export class CheckpointFile implements CheckpointMemory {
  readonly #path: string
  #remembered: Remembered | null = null
  /** Counted since the file was last rewritten. */
  #appendedBytes = 0
  #wholeBytes = 0

  constructor(private readonly dataDir: string) {
    this.#path = checkpointFile(dataDir)
  }

  async read(): Promise<Remembered> {
    this.#remembered ??= await this.#load()
    return this.#remembered
  }

  noteUnsaved(unsaved: UnsavedCheckpoints): Promise<void> {
    return this.#note(unsavedLine(unsaved))
  }

  noteSaved(): Promise<void> {
    return this.#note(SAVED_LINE)
  }

  noteSeen(trees: RememberedTrees): Promise<void> {
    return this.#note(seenLine(trees))
  }

  async replace(trees: RememberedTrees, unsaved: UnsavedCheckpoints | null = null): Promise<void> {
    const givenUp = givenUpFor(trees.root.name, await this.read())
    return this.#writeWhole({ kind: 'trees', ...trees, unsaved, givenUp })
  }

  async #note(line: Line): Promise<void> {
    const next = after(await this.read(), line)
    const isLong = this.#appendedBytes > Math.max(APPENDED_BYTES, this.#wholeBytes)
    if (isLong || !(await this.#append(textOf([line])))) return this.#writeWhole(next)
    this.#remembered = next
  }

  /** Returns false when the file no longer exists. */
  async #append(text: string): Promise<boolean> {
    const file = await open(this.#path, constants.O_WRONLY | constants.O_APPEND).catch(orNull)
    if (file === null) return false
    try {
      // A partial line of a failed write would become the beginning of the next one.
      const { size } = await file.stat()
      await file.appendFile(text).catch(async (error) => {
        await file.truncate(size)
        throw error
      })
      await file.sync()
    } finally {
      await file.close()
    }
    this.#appendedBytes += text.length
    return true
  }

  async #writeWhole(remembered: Remembered): Promise<void> {
    const text = textOf(linesOf(remembered))
    await replaceFile(this.#path, text)
    this.#remembered = remembered
    this.#wholeBytes = text.length
    this.#appendedBytes = 0
  }

  /** The signing keys record whether the file has existed. */
  async #missing(): Promise<Remembered> {
    if (!(await areCheckpointsKept(this.dataDir))) return NEW
    return { kind: 'unreadable', why: `${this.#path} was removed, so this server no longer knows what it has signed.` }
  }

  async #load(): Promise<Remembered> {
    assertNoFolder(this.#path)
    const text = await readFile(this.#path, 'utf8').catch(orNull)
    if (text === null) return this.#missing()
    const lines = text.split('\n')
    // A line that a crash cut off was not durable, so nothing was signed after it.
    const isCut = lines.pop() !== ''
    this.#appendedBytes = isCut ? Number.POSITIVE_INFINITY : text.length
    try {
      if (!('format' in parseLine(lines[0] ?? ''))) throw new Error('It has no format.')
      return lines.reduce((remembered, line) => after(remembered, parseLine(line)), NEW)
    } catch {
      return { kind: 'unreadable', why: `${this.#path} is damaged, or written by a newer Countersign.` }
    }
  }
}

const NEW: Remembered = { kind: 'nothing', isNew: true }
