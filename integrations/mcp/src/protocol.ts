/** Names of the protocol that several files read: revisions, and what each request of 2026-07-28 has in its `_meta`. */

/** The last revision with a handshake. */
export const HANDSHAKE_REVISION = '2025-11-25'
/** The first one without: each request says what the handshake did. */
export const STATELESS_REVISION = '2026-07-28'

export const PROTOCOL_VERSION = 'io.modelcontextprotocol/protocolVersion'
export const CLIENT_INFO = 'io.modelcontextprotocol/clientInfo'
export const CLIENT_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
