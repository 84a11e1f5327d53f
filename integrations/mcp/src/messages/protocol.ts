/** Names of the protocol that several files need: revisions, and members of the `_meta` of messages since 2026-07-28. */

/** The last revision with a handshake. */
export const HANDSHAKE_REVISION = '2025-11-25'
/** The first revision without a handshake. Each request contains what the handshake agreed on. */
export const STATELESS_REVISION = '2026-07-28'

export const PROTOCOL_VERSION = 'io.modelcontextprotocol/protocolVersion'
export const CLIENT_INFO = 'io.modelcontextprotocol/clientInfo'
export const CLIENT_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
/** The id of the request that opened the subscription of a message. */
export const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId'
