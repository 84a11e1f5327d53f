/**
 * SQLite's write-ahead log as a file (https://sqlite.org/fileformat2.html#walformat), read without SQLite: from the
 * first frame with a wrong checksum on, SQLite silently drops everything, and with it acknowledged mutations.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { statIfThere } from '../../durable-files/stat-if-there.js'

const HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
const MAGIC = 0x377f0682
/** The log's index in shared memory: two copies of a header, then how much of the log has been copied. */
const INDEX_HEADER_BYTES = 48
const INDEX_BYTES = 100
/**
 * Everything before the first page number; then come the blocks of the index and the numbers in each, in native byte
 * order.
 */
const INDEX_HEADERS_BYTES = 136
const INDEX_BLOCK_BYTES = 32_768
const INDEX_PAGES_BYTES = 16_384
const BLOCK_BYTES = 1024 * 1024

/** Returns the checksum of a page, never 0, which means unknown. */
export function pageSum(page: Buffer): number {
  return crc32(page) || 1
}

/** The valid content of the log, and its damage. */
export interface LogContent {
  /**
   * The checksum of the newest image of each page. 0 for an image of a commit that the index does not name: if another
   * process keeps that index, SQLite follows it and ignores the commit; otherwise it reads the log again and includes
   * it.
   */
  readonly sums: ReadonlyMap<number, number>
  readonly frames: number
  /** Null without a header. */
  readonly salts: Buffer | null
  /** A part of a sentence; null without damage. */
  readonly damage: string | null
}

/** The position of the log by its index, which is written once a commit is durable. */
export interface WalPosition {
  /** The number of valid frames. */
  readonly frames: number
  /** How many of them are also in the database. */
  readonly copied: number
  /** Identifies this filling of the log; each of its frames contains it. */
  readonly salts: Buffer
}

/** Null when the index is not valid. */
export function readWalPosition(indexDescriptor: number): WalPosition | null {
  const index = Buffer.alloc(INDEX_BYTES)
  if (readSync(indexDescriptor, index, 0, INDEX_BYTES, 0) < INDEX_BYTES) return null
  const header = index.subarray(0, INDEX_HEADER_BYTES)
  if (!header.equals(index.subarray(INDEX_HEADER_BYTES, 2 * INDEX_HEADER_BYTES)) || header[12] !== 1) return null
  return {
    frames: index.readUInt32LE(16),
    copied: index.readUInt32LE(2 * INDEX_HEADER_BYTES),
    salts: Buffer.from(header.subarray(32, 40)),
  }
}

/**
 * Reads the log of a database that no process has open, and compares it with its index.
 *
 * @param wasClosed whether the database was closed in order. The index is never synced: after a loss of power it may be
 *   older than the log, which was emptied then.
 */
export async function readComparedLog(databasePath: string, wasClosed: boolean): Promise<LogContent> {
  const indexPath = `${databasePath}-shm`
  const position = statIfThere(indexPath)?.isFile() ? withFile(indexPath, readWalPosition) : null
  const log = await readLog(databasePath, position)
  if (log.damage !== null || position === null) return log
  const isOfThisFilling = log.salts === null ? !wasClosed : log.salts.equals(position.salts)
  const isCopied = position.copied === position.frames && log.frames === 0
  if (isOfThisFilling && log.frames < position.frames && !isCopied)
    return { ...log, damage: `its -wal file has ${log.frames} of ${position.frames} frames` }
  return log
}

/**
 * Reads the log, and lets other work run between its blocks, because it may exceed memory.
 *
 * @param position by its index; null when SQLite is sure to use every complete frame
 */
export async function readLog(databasePath: string, position: WalPosition | null = null): Promise<LogContent> {
  const path = `${databasePath}-wal`
  if (statIfThere(path) === undefined) return EMPTY
  const descriptor = openSync(path, 'r')
  try {
    return await contentOf(descriptor, position)
  } finally {
    closeSync(descriptor)
  }
}

const EMPTY: LogContent = { sums: new Map(), frames: 0, salts: null, damage: null }

async function contentOf(descriptor: number, position: WalPosition | null): Promise<LogContent> {
  const header = Buffer.alloc(HEADER_BYTES)
  if (readWhole(descriptor, header, 0) < HEADER_BYTES) return EMPTY
  const salts = header.subarray(16, 24)
  const isLittle = header.readUInt32BE(0) === MAGIC
  const isKnown = isLittle || header.readUInt32BE(0) === MAGIC + 1
  let checked = checksum(header.subarray(0, 24), [0, 0], isLittle)
  if (!isKnown || !hasSums(header, 24, checked)) {
    const isMore = fstatSync(descriptor).size > HEADER_BYTES + FRAME_HEADER_BYTES
    return { ...EMPTY, salts, damage: isMore ? 'the -wal file has no header' : null }
  }
  const frameBytes = frameBytesOf(header)
  const named = position === null ? Number.POSITIVE_INFINITY : salts.equals(position.salts) ? position.frames : 0
  const sums = new Map<number, number>()
  const waiting = new Map<number, number>()
  let whole = 0
  let frames = 0
  let isWhole = true
  // At most one commit that never became durable may follow the valid ones.
  let commitsBehind = 0
  for (const block of blocksOf(descriptor, frameBytes)) {
    for (let at = 0; at < block.length; at += frameBytes) {
      const page = block.subarray(at + FRAME_HEADER_BYTES, at + frameBytes)
      const isOfThisFilling = block.subarray(at + 8, at + 16).equals(salts)
      const isCommit = block.readUInt32BE(at + 4) !== 0
      if (isWhole && isOfThisFilling)
        checked = checksum(page, checksum(block.subarray(at, at + 8), checked, isLittle), isLittle)
      isWhole &&= isOfThisFilling && hasSums(block, at + 16, checked)
      if (isWhole) {
        whole += 1
        waiting.set(block.readUInt32BE(at), whole <= named ? pageSum(page) : 0)
        if (!isCommit) continue
        for (const [number, sum] of waiting) sums.set(number, sum)
        waiting.clear()
        frames = whole
      } else if (isOfThisFilling && isCommit) commitsBehind += 1
    }
    await nextTurn()
  }
  const damage = commitsBehind > 1 ? `frame ${frames + 1} of its -wal file differs from what was written` : null
  return { sums, frames, salts, damage }
}

/**
 * Returns the checksums of the pages in the frames from `first` on, up to the last valid one. Most pages have many
 * images, of which only the newest is read.
 */
export function sumsOfFrames(
  path: string,
  indexDescriptor: number,
  first: number,
  { frames, salts }: WalPosition,
): Map<number, number> {
  const newest = new Map<number, number>()
  for (const [i, page] of pagesOfFrames(indexDescriptor, frames).subarray(first).entries()) newest.set(page, first + i)
  return withFile(path, (descriptor) => {
    const header = Buffer.alloc(HEADER_BYTES)
    readWhole(descriptor, header, 0)
    const frameBytes = frameBytesOf(header)
    const frame = Buffer.alloc(frameBytes)
    const sums = new Map<number, number>()
    for (const [page, number] of newest) {
      readWhole(descriptor, frame, HEADER_BYTES + number * frameBytes)
      if (frame.readUInt32BE(0) !== page || !frame.subarray(8, 16).equals(salts))
        throw new Error('The -wal file does not match its index.')
      sums.set(page, pageSum(frame.subarray(FRAME_HEADER_BYTES)))
    }
    return sums
  })
}

/**
 * Returns the page of each frame according to the log's index: it consists of blocks that begin with these numbers, the
 * first one after the headers.
 */
function pagesOfFrames(indexDescriptor: number, frames: number): Uint32Array {
  const pages = new Uint32Array(frames)
  for (let frame = 0, at = INDEX_HEADERS_BYTES; frame < frames; ) {
    const end = at - (at % INDEX_BLOCK_BYTES) + INDEX_PAGES_BYTES
    const wanted = pages.subarray(frame, frame + (end - at) / 4)
    const bytes = Buffer.from(wanted.buffer, wanted.byteOffset, wanted.byteLength)
    if (readWhole(indexDescriptor, bytes, at) < bytes.length) throw new Error('The index of the -wal file is cut.')
    frame += wanted.length
    at = end - INDEX_PAGES_BYTES + INDEX_BLOCK_BYTES
  }
  return pages
}

function frameBytesOf(header: Buffer): number {
  return FRAME_HEADER_BYTES + header.readUInt32BE(8)
}

/** Yields many whole frames at once. The next block overwrites the previous one. */
function* blocksOf(descriptor: number, frameBytes: number) {
  const most = Math.max(1, Math.floor(BLOCK_BYTES / frameBytes))
  const block = Buffer.alloc(most * frameBytes)
  for (let frame = 0; ; frame += most) {
    const read = readWhole(descriptor, block, HEADER_BYTES + frame * frameBytes)
    yield block.subarray(0, read - (read % frameBytes))
    if (read < block.length) return
  }
}

export function withFile<T>(path: string, use: (descriptor: number) => T, flags = 'r'): T {
  const descriptor = openSync(path, flags)
  try {
    return use(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Reads as many bytes as exist from there on; returns how many. */
export function readWhole(descriptor: number, target: Buffer, from: number): number {
  let read = 0
  while (read < target.length) {
    const more = readSync(descriptor, target, read, target.length - read, from + read)
    if (more === 0) break
    read += more
  }
  return read
}

function hasSums(file: Buffer, at: number, [first, second]: Sums): boolean {
  return file.readUInt32BE(at) === first && file.readUInt32BE(at + 4) === second
}

type Sums = readonly [number, number]

/** SQLite's checksum, over 32-bit words in the byte order that the log's magic number gives. */
function checksum(bytes: Buffer, [start, other]: Sums, isLittle: boolean): Sums {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  let first = start
  let second = other
  for (let at = 0; at < bytes.length; at += 8) {
    first = (first + view.getUint32(at, isLittle) + second) >>> 0
    second = (second + view.getUint32(at + 4, isLittle) + first) >>> 0
  }
  return [first, second]
}
