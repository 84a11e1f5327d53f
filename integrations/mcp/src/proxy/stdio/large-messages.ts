/**
 * Messages that are too large to parse. Only their ids and kinds are kept, to answer their requests. This reads bytes as they arrive,
 * and does not validate the JSON, because the message is used for nothing else.
 */
import { parseJson } from '../../json/exact-json.js'
import { MAX_BATCH } from '../../messages/json-rpc.js'

/** What is kept of a message. */
export interface MessageName {
  /** Undefined if there is none, or it is neither a string nor a number. */
  readonly id: unknown
  readonly hasId: boolean
  readonly hasMethod: boolean
}

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
/** The limit of the name or the value of a member that is kept, in bytes. */
const MAX_WORD = 1_024
const NAMELESS: MessageName = { id: undefined, hasId: false, hasMethod: false }

export class LargeMessages {
  /** The complete messages of one line, which is a message or a batch. */
  readonly names: MessageName[] = []
  #depth = 0
  /** The depth of the members of a message. A batch adds one level. */
  #memberDepth = 1
  #isInString = false
  #isEscaped = false
  #word: number[] = []
  #member: unknown
  #name = NAMELESS

  get isBatch(): boolean {
    return this.#memberDepth > 1
  }

  take(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += 1) this.#take(bytes[at] as number)
  }

  #take(byte: number): void {
    if (this.#isInString) this.#inString(byte)
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) this.#open(byte)
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) this.#close()
    else if (this.#depth !== this.#memberDepth) this.#isInString = byte === QUOTE
    else if (byte === COLON) this.#member = this.#endWord()
    else if (byte === COMMA) this.#endMember()
    else {
      this.#isInString = byte === QUOTE
      this.#keep(byte)
    }
  }

  #inString(byte: number): void {
    this.#isInString = this.#isEscaped || byte !== QUOTE
    this.#isEscaped = !this.#isEscaped && byte === BACKSLASH
    if (this.#depth === this.#memberDepth) this.#keep(byte)
  }

  #open(byte: number): void {
    if (this.#depth === 0) this.#memberDepth = byte === OPEN_LIST ? 2 : 1
    this.#depth += 1
    if (this.#depth === this.#memberDepth) this.#word = []
  }

  #close(): void {
    if (this.#depth === this.#memberDepth) {
      this.#endMember()
      const isNamed = this.#name.hasId || this.#name.hasMethod
      if (isNamed && this.names.length < MAX_BATCH) this.names.push(this.#name)
      this.#name = NAMELESS
    }
    this.#depth -= 1
  }

  #endMember(): void {
    const value = this.#endWord()
    if (this.#member === 'id') this.#name = { ...this.#name, id: value, hasId: true }
    if (this.#member === 'method') this.#name = { ...this.#name, hasMethod: true }
    this.#member = undefined
  }

  #keep(byte: number): void {
    if (this.#word.length <= MAX_WORD) this.#word.push(byte)
  }

  /** Undefined for a list, an object, and a value that is too long. */
  #endWord(): unknown {
    const word = this.#word
    this.#word = []
    try {
      return word.length > MAX_WORD ? undefined : parseJson(Buffer.from(word).toString())
    } catch {
      return undefined
    }
  }
}
