import { TypeID } from 'typeid-js'
import { v7 } from 'uuid'
import type { Clock } from '../ports/clock.js'
import type { Ids } from '../ports/ids.js'

/** Ids by the given clock. Ids of the same millisecond sort in the order of their creation. */
export function typeidIds(clock: Clock): Ids {
  let last = 0
  let sequence = 0
  return {
    next(prefix) {
      const now = clock.now().getTime()
      // The counter follows the time in the id. An overflow (never within a millisecond) carries into the time.
      if (now > last) sequence = 0
      last = Math.max(last, now)
      const bytes = v7({ msecs: last, seq: sequence++ }, new Uint8Array(16))
      return TypeID.fromUUIDBytes(prefix, bytes).toString()
    },
  }
}
