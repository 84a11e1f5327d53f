/**
 * Stores lines on the disk in many small parts, by a key: each part fits into memory, no matter how many lines there
 * are.
 */
import { createHash } from 'node:crypto'
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PARTS = 256
const FLUSH_CHARACTERS = 64 * 1024

export class Partitions<Line> {
  readonly #waiting: string[] = Array.from({ length: PARTS }, () => '')

  private constructor(private readonly folder: string) {}

  /** Uses a folder that only this user may read. Call `remove` at the end. */
  static async create<Line>(): Promise<Partitions<Line>> {
    return new Partitions(await mkdtemp(join(tmpdir(), 'countersign-records-')))
  }

  /** Lines of one key go into the same part, in the order in which they were added. */
  async add(key: string, line: Line): Promise<void> {
    const part = createHash('sha256').update(key).digest()[0] as number
    this.#waiting[part] += `${JSON.stringify(line)}\n`
    if ((this.#waiting[part] as string).length >= FLUSH_CHARACTERS) await this.#flush(part)
  }

  async *parts(): AsyncGenerator<Line[]> {
    for (let part = 0; part < PARTS; part += 1) {
      await this.#flush(part)
      const text = await readFile(this.#fileOf(part), 'utf8')
      yield text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Line)
    }
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true })
  }

  async #flush(part: number): Promise<void> {
    const text = this.#waiting[part] as string
    this.#waiting[part] = ''
    await appendFile(this.#fileOf(part), text, { mode: 0o600 })
  }

  #fileOf(part: number): string {
    return join(this.folder, String(part))
  }
}
