/** Calls that take effect once, no matter how often they are sent. A repeated call gets the response that was lost. */
import { useState } from 'react'

/** The options of a call: all calls with the same key take effect once. */
export const once = (key: string) => ({ headers: { 'Idempotency-Key': key } })

/** Does not use `crypto.randomUUID`, which pages without HTTPS do not have. */
export function newOnceKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** One key for as long as a form is open. Call `renew` where the same button may be used again. */
export function useOnceKey(): { readonly key: string; readonly renew: () => void } {
  const [key, setKey] = useState(newOnceKey)
  return { key, renew: () => setKey(newOnceKey()) }
}
