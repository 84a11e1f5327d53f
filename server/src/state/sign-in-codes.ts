import { LIMITS } from '@countersign/contract'
import { generateSessionText, hashKeyText } from '../api-key-text.js'

/**
 * The codes of one-time links that this process has printed. Each signs in once, as the key that it was created for.
 */
export class SignInCodes {
  private readonly byHash = new Map<string, { readonly keyId: string; readonly endsMs: number }>()

  make(keyId: string, now: Date): string {
    const code = generateSessionText()
    this.byHash.set(hashKeyText(code), { keyId, endsMs: now.getTime() + LIMITS.signInCodeSeconds * 1000 })
    return code
  }

  /** Returns the key of a valid code. */
  keyOf(code: string, now: Date): string | undefined {
    const found = this.byHash.get(hashKeyText(code))
    return found !== undefined && now.getTime() < found.endsMs ? found.keyId : undefined
  }

  /** Uses a code up. Returns a function that makes it valid again; null when the code is not valid. */
  take(code: string, now: Date): (() => void) | null {
    const hash = hashKeyText(code)
    const found = this.byHash.get(hash)
    if (found === undefined || this.keyOf(code, now) === undefined) return null
    this.byHash.delete(hash)
    return () => void this.byHash.set(hash, found)
  }
}
