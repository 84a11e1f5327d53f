/** The file that remembers how far the log was written out. One command at a time uses it. */
import { existsSync, realpathSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { takeFileLock } from '../../../durable-files/file-lock.js'
import { replaceFile } from '../../../durable-files/replace-file.js'
import { statIfThere } from '../../../durable-files/stat-if-there.js'
import { failure } from '../../exit.js'

const PositionSchema = z.strictObject({
  /** The form of the file. */
  countersign_audit_position: z.literal(1),
  after: z
    .string()
    .min(1)
    .max(64 * 1024),
})

const MAX_BYTES = 128 * 1024

export class PositionFile {
  readonly #release: () => void

  private constructor(
    readonly path: string,
    /** The cursor that the file had when it was opened; null for a new file. */
    readonly after: string | null,
    release: () => void,
  ) {
    this.#release = release
  }

  /**
   * Takes the file, which need not exist yet.
   *
   * @throws CommandError when another command has it, or when it is not a position
   */
  static async open(given: string): Promise<PositionFile> {
    const folder = dirname(given)
    if (statIfThere(folder)?.isDirectory() !== true)
      throw failure(`There is no folder ${folder}. Create it, or name another file with --position.`)
    // A link to the file is the same file.
    const path = existsSync(given) ? realpathSync(given) : given
    const there = statIfThere(path)
    if (there !== undefined && !there.isFile()) throw failure(`${given} is not a file. Name a file with --position.`)
    const release = takeFileLock(`${path}.lock`)
    if (release === null)
      throw failure(`Another audit follow uses ${given}. End it, or name another file with --position.`)
    try {
      const after = there === undefined ? null : cursorIn(await readText(path, there.size), given)
      return new PositionFile(path, after, release)
    } catch (error) {
      release()
      throw error
    }
  }

  /** Durable once it resolves. */
  save(after: string): Promise<void> {
    const position: z.input<typeof PositionSchema> = { countersign_audit_position: 1, after }
    return replaceFile(this.path, `${JSON.stringify(position)}\n`)
  }

  close(): void {
    this.#release()
  }
}

async function readText(path: string, bytes: number): Promise<string> {
  return bytes > MAX_BYTES ? '' : readFile(path, 'utf8')
}

function cursorIn(text: string, path: string): string {
  try {
    return PositionSchema.parse(JSON.parse(text)).after
  } catch (cause) {
    throw failure(
      `${path} is not a position of audit follow, or it is damaged. Nothing was read, and the file is unchanged. ` +
        'Restore it, or name a new file with --position, and where to begin with --from.',
      cause,
    )
  }
}
