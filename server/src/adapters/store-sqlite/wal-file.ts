/**
 * The write-ahead log of SQLite as it lies on the disk (https://sqlite.org/fileformat2.html#walformat), read without SQLite:
 * from the first frame with a wrong checksum on SQLite drops all that follows without a word, and with it what was acknowledged.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { statIfThere } from '../files/stat-if-there.js'

const HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
const MAGIC = 0x377f0682
/** The log's index in shared memory: two copies of a header, then how much of the log has been copied. */
const INDEX_HEADER_BYTES = 48
const INDEX_BYTES = 100

/** What the log holds that counts: the newest image of each page, and what is wrong with it. */
export interface WalContent {
  readonly pages: ReadonlyMap<number, Buffer>
  /** A sentence's part; null when nothing is. */
  readonly damage: string | null
}

/** Where the log stands by its index, which is written once a commit is durable. */
export interface WalPosition {
  /** Frames that count. */
  readonly frames: number
  /** How many of them are in the database, too. */
  readonly copied: number
  /** Name this filling of the log; in each of its frames. */
  readonly salts: Buffer
}

/** Null without an index that can be believed. */
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

/** Reads the log of a database that nobody has open. */
export function readWal(databasePath: string): WalContent {
  const file = readIfThere(`${databasePath}-wal`)
  const indexPath = `${databasePath}-shm`
  const position = statIfThere(indexPath)?.isFile() ? withFile(indexPath, readWalPosition) : null
  const content = parse(file)
  if (content.damage !== null || position === null) return content
  const isOfThisFilling = file.length < HEADER_BYTES || file.subarray(16, 24).equals(position.salts)
  const isCopied = position.copied === position.frames && content.frames === 0
  if (isOfThisFilling && content.frames < position.frames && !isCopied)
    return { ...content, damage: `its -wal file holds ${content.frames} of ${position.frames} frames` }
  return content
}

function parse(file: Buffer): WalContent & { readonly frames: number } {
  const pages = new Map<number, Buffer>()
  const none = { pages, frames: 0, damage: null }
  if (file.length < HEADER_BYTES) return none
  const isLittle = file.readUInt32BE(0) === MAGIC
  const pageBytes = file.readUInt32BE(8)
  const frameBytes = FRAME_HEADER_BYTES + pageBytes
  let sums = checksum(file.subarray(0, 24), [0, 0], isLittle)
  const isKnown = isLittle || file.readUInt32BE(0) === MAGIC + 1
  if (!isKnown || !hasSums(file, 24, sums))
    return { ...none, damage: file.length > HEADER_BYTES + FRAME_HEADER_BYTES ? 'the -wal file has no header' : null }
  const salts = file.subarray(16, 24)
  let waiting = new Map<number, Buffer>()
  let frames = 0
  let at = HEADER_BYTES
  for (let frame = 1; at + frameBytes <= file.length; frame += 1, at += frameBytes) {
    const page = file.subarray(at + FRAME_HEADER_BYTES, at + frameBytes)
    if (!file.subarray(at + 8, at + 16).equals(salts)) break
    sums = checksum(page, checksum(file.subarray(at, at + 8), sums, isLittle), isLittle)
    if (!hasSums(file, at + 16, sums)) break
    waiting.set(file.readUInt32BE(at), page)
    if (file.readUInt32BE(at + 4) === 0) continue
    for (const [number, image] of waiting) pages.set(number, image)
    waiting = new Map()
    frames = frame
  }
  // One commit that never became durable may lie behind those that count, and no second one.
  const commits = commitsFrom(file, at, frameBytes, salts)
  return { pages, frames, damage: commits > 1 ? `frame ${frames + 1} of its -wal file is not as it was written` : null }
}

function commitsFrom(file: Buffer, start: number, frameBytes: number, salts: Buffer): number {
  let commits = 0
  for (let at = start; at + frameBytes <= file.length; at += frameBytes)
    if (file.subarray(at + 8, at + 16).equals(salts) && file.readUInt32BE(at + 4) !== 0) commits += 1
  return commits
}

/** The frames from `first` on, up to the last one that counts: each with its page. */
export function readFrames(path: string, first: number, { frames, salts }: WalPosition): Map<number, Buffer> {
  return withFile(path, (descriptor) => {
    const header = Buffer.alloc(HEADER_BYTES)
    readSync(descriptor, header, 0, HEADER_BYTES, 0)
    if (!header.subarray(16, 24).equals(salts)) throw new Error('The log is not the one that its index tells of.')
    const frameBytes = FRAME_HEADER_BYTES + header.readUInt32BE(8)
    const content = Buffer.alloc((frames - first) * frameBytes)
    readWhole(descriptor, content, HEADER_BYTES + first * frameBytes)
    const pages = new Map<number, Buffer>()
    for (let at = 0; at < content.length; at += frameBytes)
      pages.set(content.readUInt32BE(at), content.subarray(at + FRAME_HEADER_BYTES, at + frameBytes))
    return pages
  })
}

export function withFile<T>(path: string, use: (descriptor: number) => T, flags = 'r'): T {
  const descriptor = openSync(path, flags)
  try {
    return use(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** As many bytes as there are from there on; says how many. */
export function readWhole(descriptor: number, target: Buffer, from: number): number {
  let read = 0
  while (read < target.length) {
    const more = readSync(descriptor, target, read, target.length - read, from + read)
    if (more === 0) break
    read += more
  }
  return read
}

function readIfThere(path: string): Buffer {
  if (statIfThere(path) === undefined) return Buffer.alloc(0)
  return withFile(path, (descriptor) => {
    const content = Buffer.alloc(fstatSync(descriptor).size)
    return content.subarray(0, readWhole(descriptor, content, 0))
  })
}

function hasSums(file: Buffer, at: number, [first, second]: Sums): boolean {
  return file.readUInt32BE(at) === first && file.readUInt32BE(at + 4) === second
}

type Sums = readonly [number, number]

/** Of SQLite, over 32-bit words in the byte order that the log's magic number tells. */
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
