/**
 * The id of an event contains positions in the audit logs. It is encrypted: positions count the actions of all agents,
 * and a reader may be bound to a few of them. Two ids of the same positions differ, and the length of an id does not
 * reveal how large the positions are.
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import { DomainError } from '../domain-error.js'
import type { Positions } from '../ports/store/feed.js'
import type { Cursors } from './cursor.js'

const CIPHER = 'aes-256-gcm'
const SALT_BYTES = 16
const TAG_BYTES = 16
/** Each id has its own key, so a constant nonce is safe. */
const NONCE = Buffer.alloc(12)
/** The most digits of a safe integer. */
const INDEX_DIGITS = 16
/** Texts are padded to a whole number of blocks. */
const BLOCK_CHARACTERS = 96
/** The list that the ids of former releases were cursors of. */
const FORMER_LIST = '/v1/events'
const NO_ID =
  '`Last-Event-ID` or `last_event_id` is not an event id of this server. Send the last `id` that the stream gave you, or none.'

export class EventIds {
  /**
   * @param secret is kept in the store, so that an id is valid after a restart and on every replica
   * @param former opens ids of releases that signed positions and did not encrypt them
   */
  constructor(
    private readonly secret: string,
    private readonly former: Cursors,
  ) {}

  seal(positions: Positions): string {
    const salt = randomBytes(SALT_BYTES)
    const cipher = createCipheriv(CIPHER, this.keyOf(salt), NONCE)
    const sealed = Buffer.concat([cipher.update(textOf(positions)), cipher.final()])
    return Buffer.concat([salt, cipher.getAuthTag(), sealed]).toString('base64url')
  }

  /** @throws DomainError invalid_cursor */
  open(id: string): Positions {
    try {
      return positionsOf(id.includes('.') ? this.former.open(FORMER_LIST, id) : this.decrypted(id))
    } catch (cause) {
      throw new DomainError('invalid_cursor', { detail: NO_ID, cause })
    }
  }

  private decrypted(id: string): string {
    const bytes = Buffer.from(id, 'base64url')
    const isWhole = bytes.length > SALT_BYTES + TAG_BYTES && bytes.toString('base64url') === id
    if (!isWhole) throw new Error('It is not written as this server writes ids.')
    const decipher = createDecipheriv(CIPHER, this.keyOf(bytes.subarray(0, SALT_BYTES)), NONCE)
    decipher.setAuthTag(bytes.subarray(SALT_BYTES, SALT_BYTES + TAG_BYTES))
    return decipher.update(bytes.subarray(SALT_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
  }

  private keyOf(salt: Uint8Array): Buffer {
    return createHmac('sha256', this.secret).update('event id\0').update(salt).digest()
  }
}

/** JSON that is as long for an empty log as for a full one. */
function textOf(positions: Positions): string {
  const entries = Object.entries(positions).map(([log, index]) => [log, String(index).padStart(INDEX_DIGITS, '0')])
  const text = JSON.stringify(entries)
  return text.padEnd(Math.ceil(text.length / BLOCK_CHARACTERS) * BLOCK_CHARACTERS)
}

function positionsOf(text: string): Positions {
  const entries = JSON.parse(text) as [log: string, nextIndex: string | number][]
  return Object.fromEntries(entries.map(([log, index]) => [log, Number(index)]))
}
