import { DomainError } from '../domain-error.js'

/** How many unread bytes of answers one API key may have. */
const BYTES_PER_KEY = 16 * 1024 * 1024

/**
 * Counts, by API key, the bytes in memory that callers have not read yet. Above the limit a key gets no answers that
 * can be large. It can still decide and make changes: such an answer is never larger than a policy.
 */
export class UnreadAnswers {
  private readonly bytes = new Map<string, number>()

  constructor(private readonly bytesPerKey: number = BYTES_PER_KEY) {}

  /** The unread bytes of all keys. */
  get total(): number {
    return [...this.bytes.values()].reduce((sum, bytes) => sum + bytes, 0)
  }

  /** Returns the error for a key above its limit, else null. */
  overLimit(keyId: string): DomainError | null {
    if ((this.bytes.get(keyId) ?? 0) < this.bytesPerKey) return null
    return new DomainError('rate_limited', {
      detail: `${this.bytesPerKey} bytes of responses to this key are still unread. Read them, then retry.`,
      headers: { 'Retry-After': '1' },
    })
  }

  /** @throws DomainError rate_limited */
  assertRoom(keyId: string): void {
    const error = this.overLimit(keyId)
    if (error !== null) throw error
  }

  /** Counts an answer. @returns a function to call when its last byte is sent or its connection has closed */
  hold(keyId: string, bytes: number): () => void {
    this.bytes.set(keyId, (this.bytes.get(keyId) ?? 0) + bytes)
    return () => {
      const left = (this.bytes.get(keyId) ?? 0) - bytes
      if (left > 0) this.bytes.set(keyId, left)
      else this.bytes.delete(keyId)
    }
  }
}
