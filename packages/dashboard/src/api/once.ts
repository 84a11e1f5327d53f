/** Calls that take effect once, however often they are sent: a repeated one gets the answer that was lost. */
import { useState } from 'react'

/** The options of a call that is one with every other of this key. */
export const once = (key: string) => ({ headers: { 'Idempotency-Key': key } })

/** Not `crypto.randomUUID`: a page without HTTPS does not have it. */
export function newOnceKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** One key for as long as a form is open. `renew` it where the same button may do the same again. */
export function useOnceKey(): { readonly key: string; readonly renew: () => void } {
  const [key, setKey] = useState(newOnceKey)
  return { key, renew: () => setKey(newOnceKey()) }
}
