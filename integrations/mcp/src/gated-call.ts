/** What a mapping reads of a call, and the types of mappings. */
import type {
  AgentIdOfCall,
  CalledTool,
  ToolMapping as Mapping,
  MappedMembers as Members,
} from '@countersign/client/kernel'

/** The caller that the transport has authenticated: `authInfo` of both SDKs. */
export interface AuthInfo {
  readonly clientId?: string | undefined
  readonly scopes?: readonly string[] | undefined
  readonly extra?: Readonly<Record<string, unknown>> | undefined
}

/** The sender of a request. */
export interface Caller {
  /** Undefined if the transport authenticates nobody, as over stdio. */
  readonly authInfo: AuthInfo | undefined
  readonly sessionId: string | undefined
  /** `_meta` of the request. The caller writes it, so an agent may have chosen it. */
  readonly meta: Readonly<Record<string, unknown>>
}

/** A `tools/call` without its arguments. */
export interface GatedCall extends CalledTool, Caller {
  /** As the caller wrote it: the tool may not exist. Empty for `tools/list`. */
  readonly name: string
}

export type ToolMapping = Mapping<GatedCall>
export type MappedMembers = Members<GatedCall>
export type AgentId = AgentIdOfCall<GatedCall>
