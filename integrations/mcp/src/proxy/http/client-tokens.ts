/** Finds the agent of a client by its bearer token. */
import { createHash, timingSafeEqual } from 'node:crypto'

export interface KnownClient {
  readonly agent_id: string
  /** The SHA-256 of the token as 64 hexadecimal digits. No file contains the token itself. */
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
   * The agent of the token in this `Authorization` header. Undefined for an unknown token. The time it takes reveals nothing about the
   * tokens, because all hashes are compared.
   */
  agentOf(authorization: string | undefined): string | undefined {
    const token = /^bearer +([^\s,]+) *$/i.exec(authorization ?? '')?.[1]
    if (token === undefined) return undefined
    // Node has decoded the header as Latin 1. This restores its bytes.
    const given = createHash('sha256').update(token, 'latin1').digest()
    const found = this.#clients.filter(({ hash }) => hash.length === given.length && timingSafeEqual(hash, given))
    return found[0]?.agentId
  }
}
