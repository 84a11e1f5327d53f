import { randomBytes } from 'node:crypto'
import type { Clock } from '../ports/clock.js'
import type { Ids } from '../ports/ids.js'
import { typeid } from '../typeid.js'

/** Creates ids with the given clock. Ids of the same millisecond sort in the order of their creation. */
export function typeidIds(clock: Clock): Ids {
  let random = Buffer.alloc(0)
  let last = 0
  let sequence = 0
  /** No byte is used twice. Many are requested from the system at once, which costs as much as a few. */
  const randomOf = (bytes: number): Buffer => {
    if (random.length < bytes) random = randomBytes(4096)
    const taken = random.subarray(0, bytes)
    random = random.subarray(bytes)
    return taken
  }
  return {
    next(prefix) {
      const now = clock.now().getTime()
      if (now > last) sequence = 0
      last = Math.max(last, now)
      return typeid(prefix, last, sequence++, randomOf(6).readUIntBE(0, 6))
    },
    salt: () => randomOf(16).toString('base64url'),
  }
}
