import type { PageRequest } from './store.js'

/** What a page still takes: so many rows, and so many bytes of them. */
export class PageRoom {
  private bytes = 0
  private rows = 0

  constructor(private readonly page: Pick<PageRequest, 'limit' | 'maxBytes'>) {}

  /** Whether a row of so many bytes is still one of the page. The first one always is. */
  takes(bytes: number): boolean {
    const { limit, maxBytes = Number.POSITIVE_INFINITY } = this.page
    if (this.rows > 0 && (this.rows === limit || this.bytes + bytes > maxBytes)) return false
    this.rows += 1
    this.bytes += bytes
    return true
  }
}
