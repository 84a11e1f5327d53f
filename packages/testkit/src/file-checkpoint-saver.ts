/** A checkpointer of LangGraph that outlives its process, for tests and examples: services have those for PostgreSQL, Redis or MongoDB. */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import { MemorySaver } from '@langchain/langgraph-checkpoint'

/**
 * Keeps the checkpoints and the pending writes of all threads in one file: `new FileCheckpointSaver('./agent.checkpoints')`.
 *
 * It answers as LangGraph's `MemorySaver` does. `put`, `putWrites` and `deleteThread` resolve once the change is on disk. Each
 * change replaces the file as a whole, so that a process that dies leaves the state before or after it, and the next process
 * goes on from there. The file belongs to one saver at a time.
 *
 * @throws Error when the file cannot be read, or was not written by a saver; a change throws when another saver has written
 * the file meanwhile, and the file does not get it then
 */
export class FileCheckpointSaver extends MemorySaver {
  readonly #path: string
  #version: string

  constructor(path: string) {
    super()
    this.#path = path
    this.#version = versionOf(path)
    if (this.#version !== NO_FILE) Object.assign(this, read(path))
  }

  override async put(...change: Parameters<MemorySaver['put']>) {
    const config = await super.put(...change)
    this.#save()
    return config
  }

  override async putWrites(...change: Parameters<MemorySaver['putWrites']>) {
    await super.putWrites(...change)
    this.#save()
  }

  override async deleteThread(...change: Parameters<MemorySaver['deleteThread']>) {
    await super.deleteThread(...change)
    this.#save()
  }

  /** Synchronous, so that changes made at the same time leave one after another. */
  #save(): void {
    if (versionOf(this.#path) !== this.#version) {
      throw new Error(
        `Another checkpoint saver has written ${this.#path}. Open it again, and let one saver use it at a time.`,
      )
    }
    const { storage, writes } = this
    replace(this.#path, serialize({ storage, writes } satisfies State))
    this.#version = versionOf(this.#path)
  }
}

type State = Pick<MemorySaver, 'storage' | 'writes'>

const NO_FILE = ''

/** Another one after each replacement of the file. */
function versionOf(path: string): string {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat ? `${stat.ino} ${stat.mtimeNs}` : NO_FILE
}

function read(path: string): State {
  try {
    const { storage, writes }: State = deserialize(readFileSync(path))
    return { storage: withoutPrototypes(storage), writes: withoutPrototypes(writes) }
  } catch (cause) {
    throw new Error(`Cannot read the checkpoints in ${path}. Name another file, or delete this one.`, { cause })
  }
}

/** As the saver in memory makes them: a thread may be called `toString`. */
function withoutPrototypes<T extends object>(record: T): T {
  for (const value of Object.values(record))
    if (Object.getPrototypeOf(value) === Object.prototype) withoutPrototypes(value)
  return Object.setPrototypeOf(record, null)
}

function replace(path: string, contents: Uint8Array): void {
  const next = `${path}.next`
  writeFileSync(next, contents, { flush: true })
  renameSync(next, path)
  const folder = openSync(dirname(path), 'r')
  fsyncSync(folder)
  closeSync(folder)
}
