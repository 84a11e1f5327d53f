import { crc32 } from 'node:zlib'

/** The checksum of a page, never 0: that is for what is not known. */
export function pageSum(page: Buffer): number {
  return crc32(page) || 1
}
