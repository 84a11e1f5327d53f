import { describe, expect, it } from 'vitest'
import { Cursors } from './cursor.js'
import { EventIds } from './event-ids.js'

const idsOf = (secret: string) => new EventIds(secret, new Cursors(secret))
const ids = idsOf('a secret of the store')
const LOG = 'log_01kagx5v5ne8sr6w1y6gqk4t2h'

describe('the id of an event', () => {
  it('names positions, for every server that has the secret', () => {
    for (const positions of [{}, { [LOG]: 7 }, { [LOG]: Number.MAX_SAFE_INTEGER, other: 0 }])
      expect(idsOf('a secret of the store').open(ids.seal(positions))).toEqual(positions)
  })

  it('is another one each time, and as long for a full log as for an empty one', () => {
    const sealed = [0, 1, 1, 99, 12_345_678, Number.MAX_SAFE_INTEGER].map((index) => ids.seal({ [LOG]: index }))
    expect(new Set(sealed).size).toBe(6)
    expect(new Set(sealed.map((id) => id.length)).size).toBe(1)
    const starts = sealed.map((id) => id.slice(0, 20))
    expect(new Set(starts).size).toBe(6)
  })

  it('shows neither a log nor an index', () => {
    const bytes = Buffer.from(ids.seal({ [LOG]: 123_456 }), 'base64url').toString('latin1')
    expect(bytes).not.toMatch(/log_|123456|01kagx/)
  })

  it('is refused when any character of it is changed, left out or added, and with another secret', () => {
    const id = ids.seal({ [LOG]: 7 })
    const refused = { code: 'invalid_cursor' }
    for (let at = 0; at < id.length; at += 1) {
      const other = id[at] === 'A' ? 'B' : 'A'
      const changed = [id.slice(0, at) + other + id.slice(at + 1), id.slice(0, at) + id.slice(at + 1)]
      for (const text of [...changed, id.slice(0, at), `${id.slice(0, at)}=${id.slice(at)}`])
        expect(() => ids.open(text)).toThrow(expect.objectContaining(refused))
    }
    expect(() => idsOf('another secret').open(id)).toThrow(expect.objectContaining(refused))
  })

  it('of a release that only signed it is still good, and cannot be made', () => {
    const cursors = new Cursors('a secret of the store')
    const former = cursors.seal('/v1/events', JSON.stringify([[LOG, 7]]))
    expect(ids.open(former)).toEqual({ [LOG]: 7 })
    const forged = former.replace(/^[^.]*/, Buffer.from(JSON.stringify([[LOG, 9]])).toString('base64url'))
    for (const text of [forged, cursors.seal('/v1/decisions', JSON.stringify([[LOG, 7]]))])
      expect(() => ids.open(text)).toThrow(expect.objectContaining({ code: 'invalid_cursor' }))
  })
})
