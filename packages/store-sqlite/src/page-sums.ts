/**
 * A checksum of each page of the database, beside it in `countersign.db-sums`. SQLite has none: a byte that the disk changed
 * would be answered as if it had been decided, or, in a text, end the process. Pages are summed on their way from the log to
 * the database: only the commit behind such a copy waits. The file: 32 bytes of header, then 4 bytes a page, 0 for unknown.
 */
import {
  type BigIntStats,
  existsSync,
  fstatSync,
  fsyncSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { replaceFile } from '@countersign/durable-files'
import { DamagedStoreError, syncDirectory } from './data-directory.js'
import { pageSum } from './page-sum.js'
import { readComparedLog, readLog, readWhole, withFile } from './wal-file.js'

const MAGIC = Buffer.from('CSGNSUM1')
const HEADER_BYTES = 32
const SUM_BYTES = 4
/** Of the header: the size and the time of change of a database that was closed in order, zeros while it is open. */
const CLOSED_AT = 16
const BLOCK_BYTES = 4096
const READ_BYTES = 1024 * 1024
/** A larger one that was closed in order, and that nobody has changed since, is not read at every start. */
const ALWAYS_READ_BYTES = 64 * 1024 * 1024

/** Whether there are sums of this database: not of one that an earlier release left, or that was just restored. */
export function hasSums(databasePath: string): boolean {
  return existsSync(sumsOf(databasePath))
}

/**
 * Compares a database that nobody has open with its sums, and its log with itself and its index.
 *
 * @returns the sums of the pages that the log holds
 * @throws DamagedStoreError
 */
export async function assertAsWritten(
  databasePath: string,
  { readsAll = false } = {},
): Promise<ReadonlyMap<number, number>> {
  const sums = hasSums(databasePath) ? PageSums.read(databasePath) : null
  const log = await readComparedLog(databasePath, sums?.isMarkedClosed === true)
  if (log.damage !== null) throw new DamagedStoreError(databasePath, log.damage)
  const isRead = sums !== null && (readsAll || !sums.isAsClosed())
  const fault = isRead ? await sums.fault(log.sums) : null
  if (fault !== null) throw new DamagedStoreError(databasePath, fault)
  return log.sums
}

/** Adds what the log holds, for the next connection may copy it. The caller holds the directory. */
export function openSums(databasePath: string, inLog: ReadonlyMap<number, number>): void {
  const sums = PageSums.read(databasePath)
  sums.take(inLog)
  sums.markOpen()
}

/** While pages are changed otherwise than through the log of a writer. */
export function dropSums(databasePath: string): void {
  rmSync(sumsOf(databasePath), { force: true })
  syncDirectory(dirname(databasePath))
}

/** Sums a database that nobody writes to, as it is. */
export async function makeSums(databasePath: string): Promise<void> {
  await replaceFile(sumsOf(databasePath), await listOf(databasePath))
  // Not the log's index: to close that file would drop the locks of SQLite on it.
  PageSums.read(databasePath).take((await readLog(databasePath)).sums)
}

/** Says that the database was closed in order, with nothing left in its log. */
export function markClosed(databasePath: string): void {
  if ((statSync(`${databasePath}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) return
  // Somebody removed it: the next start reads the whole store.
  if (!hasSums(databasePath)) return
  PageSums.read(databasePath).markClosed()
}

/** The sums of one database, all of them in memory. */
export class PageSums {
  #sums: Buffer
  readonly #pageBytes: number
  /** Whether the database was closed in order, with an empty log, when they were read. */
  readonly isMarkedClosed: boolean

  private constructor(
    private readonly databasePath: string,
    header: Buffer,
    sums: Buffer,
  ) {
    this.#pageBytes = header.readUInt32BE(8)
    this.isMarkedClosed = header.subarray(CLOSED_AT, HEADER_BYTES).some((byte) => byte !== 0)
    this.#sums = sums
  }

  /** @throws DamagedStoreError */
  static read(databasePath: string): PageSums {
    const path = sumsOf(databasePath)
    const content = withFile(path, (descriptor) => {
      const buffer = Buffer.alloc(fstatSync(descriptor).size)
      return buffer.subarray(0, readWhole(descriptor, buffer, 0))
    })
    const isKnown = content.length >= HEADER_BYTES && content.subarray(0, 8).equals(MAGIC)
    if (!isKnown || !PAGE_SIZES.has(content.readUInt32BE(8)))
      throw new DamagedStoreError(databasePath, `${path} is not a list of its pages`)
    const whole = content.length - ((content.length - HEADER_BYTES) % SUM_BYTES)
    return new PageSums(databasePath, content.subarray(0, HEADER_BYTES), content.subarray(HEADER_BYTES, whole))
  }

  /** Whether it is the file that was left, by its size and time of change. */
  isAsClosed(): boolean {
    const database = statSync(this.databasePath, { bigint: true })
    if (database.size <= ALWAYS_READ_BYTES) return false
    return withFile(sumsOf(this.databasePath), (descriptor) => {
      const closed = Buffer.alloc(16)
      readWhole(descriptor, closed, CLOSED_AT)
      return closed.equals(closedAs(database))
    })
  }

  /** The first page that is not as it was written, apart from those that the log has anew; null when there is none. */
  async fault(inLog: ReadonlyMap<number, number>): Promise<string | null> {
    const known = this.#sums.length / SUM_BYTES
    let last = 0
    for await (const { page, sum } of pagesOf(this.databasePath, this.#pageBytes)) {
      last = page
      if (inLog.has(page)) continue
      if (page > known) return `page ${page} was added to it`
      const written = this.#sums.readUInt32BE((page - 1) * SUM_BYTES)
      if (written !== 0 && written !== sum) return `page ${page} differs from what was written`
    }
    for (let page = last + 1; page <= known; page += 1)
      if (!inLog.has(page) && this.#sums.readUInt32BE((page - 1) * SUM_BYTES) !== 0)
        return `it ends before its page ${page}`
    return null
  }

  /**
   * Durable when it returns: from then on the pages may be written to the database.
   *
   * @param sums by page
   */
  take(sums: ReadonlyMap<number, number>): void {
    if (sums.size === 0) return
    let last = 0
    for (const page of sums.keys()) last = Math.max(last, page)
    const needed = last * SUM_BYTES
    if (needed > this.#sums.length) this.#sums = Buffer.concat([this.#sums, Buffer.alloc(needed - this.#sums.length)])
    const blocks = new Set<number>()
    for (const [page, sum] of sums) {
      const at = (page - 1) * SUM_BYTES
      this.#sums.writeUInt32BE(sum, at)
      blocks.add(Math.floor(at / BLOCK_BYTES))
    }
    this.#write(
      [...blocks].map((block) => ({
        bytes: this.#sums.subarray(block * BLOCK_BYTES, (block + 1) * BLOCK_BYTES),
        at: HEADER_BYTES + block * BLOCK_BYTES,
      })),
    )
  }

  markOpen(): void {
    this.#write([{ bytes: Buffer.alloc(16), at: CLOSED_AT }])
  }

  markClosed(): void {
    this.#write([{ bytes: closedAs(statSync(this.databasePath, { bigint: true })), at: CLOSED_AT }])
  }

  #write(parts: readonly { readonly bytes: Buffer; readonly at: number }[]): void {
    if (!hasSums(this.databasePath)) this.#writeAnew()
    withFile(
      sumsOf(this.databasePath),
      (descriptor) => {
        for (const { bytes, at } of parts) writeAll(descriptor, bytes, at)
        fsyncSync(descriptor)
      },
      'r+',
    )
  }

  /** Somebody removed the file while it was in use. */
  #writeAnew(): void {
    const path = sumsOf(this.databasePath)
    const temporary = `${path}.lost.tmp`
    const content = Buffer.concat([headerOf(this.#pageBytes), this.#sums])
    writeFileSync(temporary, content, { mode: 0o600, flush: true })
    renameSync(temporary, path)
    syncDirectory(dirname(path))
  }
}

/** Those of SQLite. */
const PAGE_SIZES = new Set([512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536])

function sumsOf(databasePath: string): string {
  return `${databasePath}-sums`
}

function closedAs({ size, mtimeNs }: BigIntStats): Buffer {
  const bytes = Buffer.alloc(16)
  bytes.writeBigUInt64BE(size, 0)
  bytes.writeBigUInt64BE(mtimeNs, 8)
  return bytes
}

function pageBytesOf(databasePath: string): number {
  const header = Buffer.alloc(18)
  withFile(databasePath, (descriptor) => readWhole(descriptor, header, 0))
  const bytes = header.readUInt16BE(16)
  return bytes === 1 ? 65_536 : bytes
}

function writeAll(descriptor: number, bytes: Buffer, at: number): void {
  let written = 0
  while (written < bytes.length) written += writeSync(descriptor, bytes, written, bytes.length - written, at + written)
}

async function* pagesOf(databasePath: string, pageBytes: number) {
  const chunk = Buffer.alloc(READ_BYTES)
  let page = 0
  for (;;) {
    const read = withFile(databasePath, (descriptor) => readWhole(descriptor, chunk, page * pageBytes))
    // A page that is cut is another one than the whole.
    for (let at = 0; at < read; at += pageBytes)
      yield { page: ++page, sum: pageSum(chunk.subarray(at, Math.min(at + pageBytes, read))) }
    if (read < chunk.length) return
    await nextTurn()
  }
}

/** Of a database that is open. */
function headerOf(pageBytes: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  MAGIC.copy(header)
  header.writeUInt32BE(pageBytes, 8)
  return header
}

/** The content of a new file of sums. */
async function listOf(databasePath: string): Promise<Buffer> {
  const pageBytes = pageBytesOf(databasePath)
  const sums: number[] = []
  for await (const { sum } of pagesOf(databasePath, pageBytes)) sums.push(sum)
  const list = Buffer.alloc(sums.length * SUM_BYTES)
  for (const [index, sum] of sums.entries()) list.writeUInt32BE(sum, index * SUM_BYTES)
  return Buffer.concat([headerOf(pageBytes), list])
}
