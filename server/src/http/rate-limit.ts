import { DomainError } from '../domain-error.js'

/** One token bucket per API key, local to this process. */
export class RateLimit {
  private readonly buckets = new Map<string, { tokens: number; at: number }>()

  /** @param perSecond tokens per second, and the size of the bucket; 0 for no limit */
  constructor(private readonly perSecond: number) {}

  /** Takes a token. @throws DomainError rate_limited */
  admit(keyId: string): void {
    const waitSeconds = this.take(keyId)
    if (waitSeconds === null) return
    const headers = { 'Retry-After': String(waitSeconds) }
    throw new DomainError('rate_limited', { detail: `Retry in ${waitSeconds} s.`, headers })
  }

  /** Takes a token and returns null. If none is left, returns the seconds until the next one, at least 1. */
  take(keyId: string, nowMs: number = performance.now()): number | null {
    if (this.perSecond === 0) return null
    const bucket = this.buckets.get(keyId) ?? { tokens: this.perSecond, at: nowMs }
    const tokens = Math.min(this.perSecond, bucket.tokens + ((nowMs - bucket.at) / 1000) * this.perSecond)
    const isEnough = tokens >= 1
    this.buckets.set(keyId, { tokens: isEnough ? tokens - 1 : tokens, at: nowMs })
    return isEnough ? null : Math.max(1, Math.ceil((1 - tokens) / this.perSecond))
  }
}
