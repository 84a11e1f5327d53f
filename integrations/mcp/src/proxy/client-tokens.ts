/** Which agent a client of the proxy is, by its bearer token. */
import { createHash, timingSafeEqual } from 'node:crypto'

export interface KnownClient {
  readonly agent_id: string
  /** SHA-256 of the token as 64 hexadecimal digits: the token itself is in no file. */
  readonly token_sha256: string
}

export class ClientTokens {
  readonly #clients: readonly { readonly agentId: string; readonly hash: Buffer }[]

  constructor(clients: readonly KnownClient[]) {
    this.#clients = clients.map(({ agent_id, token_sha256 }) => ({
      agentId: agent_id,
      hash: Buffer.from(token_sha256, 'hex'),
    }))
  }

  /**
   * The agent whose token this `Authorization` header has; undefined where it is nobody's. How long it takes tells nothing about
   * the tokens: each of them is compared, by its hash.
   */
  agentOf(authorization: string | undefined): string | undefined {
    const token = /^bearer +([^\s,]+) *$/i.exec(authorization ?? '')?.[1]
    if (token === undefined) return undefined
    // What node has read as Latin 1 is what the client has sent.
    const given = createHash('sha256').update(token, 'latin1').digest()
    const found = this.#clients.filter(({ hash }) => hash.length === given.length && timingSafeEqual(hash, given))
    return found[0]?.agentId
  }
}
