import { createHmac, timingSafeEqual } from 'node:crypto'
import { DomainError } from '../domain-error.js'

/**
 * A cursor names the last item of a page. A MAC binds it to the list that returned it: path, filters and API key.
 */
export class Cursors {
  /** @param secret is kept in the store, so that a cursor is valid after a restart and on every replica */
  constructor(private readonly secret: string) {}

  seal(list: string, position: string): string {
    return `${Buffer.from(position).toString('base64url')}.${this.mac(list, position)}`
  }

  /** @throws DomainError invalid_cursor */
  open(list: string, cursor: string): string {
    const [encoded = '', mac = '', ...rest] = cursor.split('.')
    const position = Buffer.from(encoded, 'base64url').toString()
    const expected = Buffer.from(this.mac(list, position))
    const given = Buffer.from(mac)
    const isCanonical = Buffer.from(position).toString('base64url') === encoded
    const isOurs =
      rest.length === 0 && isCanonical && given.length === expected.length && timingSafeEqual(given, expected)
    if (!isOurs) throw new DomainError('invalid_cursor')
    return position
  }

  private mac(list: string, position: string): string {
    return createHmac('sha256', this.secret)
      .update(JSON.stringify([list, position]))
      .digest('base64url')
      .slice(0, 22)
  }
}
