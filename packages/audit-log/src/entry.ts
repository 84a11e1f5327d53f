import type { JsonObject } from '@countersign/contract'

/** One entry of the audit log, before or after its leaf hash was taken. */
export interface AuditEntry {
  readonly id: string
  /** The log of one writing process. */
  readonly log: string
  /** Position in the log, from 0 without gaps. */
  readonly index: number
  /** RFC 3339 UTC with milliseconds. */
  readonly at: string
  /** What happened, such as `decision.created`. */
  readonly type: string
  /** The API key that did it, null for what the clock did. */
  readonly actor: string | null
  /** The id of the object that it happened to. */
  readonly subject: string
  readonly agent_id: string | null
  readonly data: JsonObject
  /** base64url leaf hash, see `leafHash`. */
  readonly leaf?: string
}
