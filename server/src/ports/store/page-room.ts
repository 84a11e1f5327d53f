import type { PageRequest } from './page.js'

/** The room left in a page, in rows and in bytes. */
export class PageRoom {
  private bytes = 0
  private rows = 0

  constructor(private readonly page: Pick<PageRequest, 'limit' | 'maxBytes'>) {}

  /** Whether a row of this many bytes still fits in the page. The first row always does. */
  takes(bytes: number): boolean {
    const { limit, maxBytes = Number.POSITIVE_INFINITY } = this.page
    if (this.rows > 0 && (this.rows === limit || this.bytes + bytes > maxBytes)) return false
    this.rows += 1
    this.bytes += bytes
    return true
  }
}
