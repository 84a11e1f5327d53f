import { TypeID } from 'typeid-js'
import { v7 } from 'uuid'
import type { Clock } from '../ports/clock.js'
import type { Ids } from '../ports/ids.js'

/** Ids by the given clock; of two made in the same millisecond the later one is greater. */
export function typeidIds(clock: Clock): Ids {
  let last = 0
  let sequence = 0
  return {
    next(prefix) {
      const now = clock.now().getTime()
      // The counter stands right behind the time in the id. A full one (never within a millisecond) borrows the next.
      if (now > last) sequence = 0
      last = Math.max(last, now)
      const bytes = v7({ msecs: last, seq: sequence++ }, new Uint8Array(16))
      return TypeID.fromUUIDBytes(prefix, bytes).toString()
    },
  }
}
