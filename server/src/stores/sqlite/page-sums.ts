/**
 * A checksum of each page of the database, next to it in `countersign.db-sums`. SQLite has none: a byte that the disk
 * changed would be served as decided data or, inside a text, end the process. Pages are summed when they are copied
 * from the log to the database, so only the commit after such a copy waits. The file: 32 bytes of header, then 4 bytes
 * per page, 0 for unknown.
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
import { replaceFile, syncFile } from '../../durable-files/replace-file.js'
import { DamagedStoreError, syncDirectory } from './data-directory.js'
import { databaseDescriptor } from './database-file.js'
import { pageSum, readComparedLog, readLog, readWhole, withFile } from './wal-file.js'

const MAGIC = Buffer.from('CSGNSUM1')
const HEADER_BYTES = 32
const SUM_BYTES = 4
/** Header fields: the size and modification time of a database that was closed in order, zeros while it is open. */
const CLOSED_AT = 16
const BLOCK_BYTES = 4096
const READ_BYTES = 1024 * 1024
/** A larger database that was closed in order, and not changed since, is not read at every start. */
const ALWAYS_READ_BYTES = 64 * 1024 * 1024

/** Whether this database has sums: one of an earlier release, or one that was just restored, has none. */
export function hasSums(databasePath: string): boolean {
  return existsSync(sumsOf(databasePath))
}

/**
 * Compares a database that no process has open with its sums, and its log with itself and its index.
 *
 * @returns the sums of the pages in the log
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

/**
 * Adds the sums of the pages in the log, because the next connection may copy it. The caller must hold the directory.
 * Never waits for the disk.
 */
export function openSums(databasePath: string, inLog: ReadonlyMap<number, number>): Promise<void> {
  return PageSums.read(databasePath).open(inLog)
}

/** For changes of pages that do not go through a writer's log. */
export function dropSums(databasePath: string): void {
  rmSync(sumsOf(databasePath), { force: true })
  syncDirectory(dirname(databasePath))
}

/** Computes the sums of a database that is not being written. */
export async function makeSums(databasePath: string): Promise<void> {
  await replaceFile(sumsOf(databasePath), await listOf(databasePath))
  // Does not read the log's index: closing that file would drop SQLite's locks on it.
  await openSums(databasePath, (await readLog(databasePath)).sums)
}

/** Records that the database was closed in order, with an empty log. */
export function markClosed(databasePath: string): void {
  if ((statSync(`${databasePath}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) return
  // The file was removed: the next start reads the whole store.
  if (!hasSums(databasePath)) return
  PageSums.read(databasePath).markClosed()
}

/** Bytes of the sums file, and their offset. */
interface Part {
  readonly bytes: Buffer
  readonly at: number
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

  /** Whether the file is unchanged since then, by its size and modification time. */
  isAsClosed(): boolean {
    const database = statSync(this.databasePath, { bigint: true })
    if (database.size <= ALWAYS_READ_BYTES) return false
    return withFile(sumsOf(this.databasePath), (descriptor) => {
      const closed = Buffer.alloc(16)
      readWhole(descriptor, closed, CLOSED_AT)
      return closed.equals(closedAs(database))
    })
  }

  /**
   * Returns the first page that is not as it was written, except for pages with a newer copy in the log; null when
   * there is none.
   */
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
    if (sums.size > 0) this.#write(this.#taken(sums))
  }

  /**
   * Takes sums, and records that the database is open. Durable when it resolves. Does not block the thread while the
   * disk is slow.
   *
   * @param sums by page
   */
  async open(sums: ReadonlyMap<number, number>): Promise<void> {
    const path = sumsOf(this.databasePath)
    const parts = [...this.#taken(sums), { bytes: Buffer.alloc(16), at: CLOSED_AT }]
    withFile(path, (descriptor) => writeParts(descriptor, parts), 'r+')
    await syncFile(path)
  }

  #taken(sums: ReadonlyMap<number, number>): readonly Part[] {
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
    return [...blocks].map((block) => ({
      bytes: this.#sums.subarray(block * BLOCK_BYTES, (block + 1) * BLOCK_BYTES),
      at: HEADER_BYTES + block * BLOCK_BYTES,
    }))
  }

  markClosed(): void {
    this.#write([{ bytes: closedAs(statSync(this.databasePath, { bigint: true })), at: CLOSED_AT }])
  }

  #write(parts: readonly Part[]): void {
    if (!hasSums(this.databasePath)) this.#writeAnew()
    withFile(
      sumsOf(this.databasePath),
      (descriptor) => {
        writeParts(descriptor, parts)
        fsyncSync(descriptor)
      },
      'r+',
    )
  }

  /** The file was removed while it was in use. */
  #writeAnew(): void {
    const path = sumsOf(this.databasePath)
    const temporary = `${path}.lost.tmp`
    const content = Buffer.concat([headerOf(this.#pageBytes), this.#sums])
    writeFileSync(temporary, content, { mode: 0o600, flush: true })
    renameSync(temporary, path)
    syncDirectory(dirname(path))
  }
}

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
  readWhole(databaseDescriptor(databasePath), header, 0)
  const bytes = header.readUInt16BE(16)
  return bytes === 1 ? 65_536 : bytes
}

function writeParts(descriptor: number, parts: readonly Part[]): void {
  for (const { bytes, at } of parts) writeAll(descriptor, bytes, at)
}

function writeAll(descriptor: number, bytes: Buffer, at: number): void {
  let written = 0
  while (written < bytes.length) written += writeSync(descriptor, bytes, written, bytes.length - written, at + written)
}

async function* pagesOf(databasePath: string, pageBytes: number) {
  const chunk = Buffer.alloc(READ_BYTES)
  let page = 0
  for (;;) {
    const read = readWhole(databaseDescriptor(databasePath), chunk, page * pageBytes)
    // A truncated page has another sum than the whole one.
    for (let at = 0; at < read; at += pageBytes)
      yield { page: ++page, sum: pageSum(chunk.subarray(at, Math.min(at + pageBytes, read))) }
    if (read < chunk.length) return
    await nextTurn()
  }
}

/** The header of an open database. */
function headerOf(pageBytes: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  MAGIC.copy(header)
  header.writeUInt32BE(pageBytes, 8)
  return header
}

/** Returns the content of a new sums file. */
async function listOf(databasePath: string): Promise<Buffer> {
  const pageBytes = pageBytesOf(databasePath)
  const sums: number[] = []
  for await (const { sum } of pagesOf(databasePath, pageBytes)) sums.push(sum)
  const list = Buffer.alloc(sums.length * SUM_BYTES)
  for (const [index, sum] of sums.entries()) list.writeUInt32BE(sum, index * SUM_BYTES)
  return Buffer.concat([headerOf(pageBytes), list])
}
