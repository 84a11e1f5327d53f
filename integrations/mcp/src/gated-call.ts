/** What a mapping can read of a call, and how it maps. */
import type {
  AgentIdOfCall,
  CalledTool,
  ToolMapping as Mapping,
  MappedMembers as Members,
} from '@countersign/client/kernel'

/** Who calls, as the transport has authenticated it: `authInfo` of both SDKs. */
export interface AuthInfo {
  readonly clientId?: string | undefined
  readonly scopes?: readonly string[] | undefined
  readonly extra?: Readonly<Record<string, unknown>> | undefined
}

/** Who makes a request. */
export interface Caller {
  /** Undefined where nobody was authenticated, as over stdio. */
  readonly authInfo: AuthInfo | undefined
  readonly sessionId: string | undefined
  /** `_meta` of the request: the caller's own words, which an agent may have chosen. */
  readonly meta: Readonly<Record<string, unknown>>
}

/** A `tools/call`, beside its arguments. */
export interface GatedCall extends CalledTool, Caller {
  /** As the caller wrote it: there may be no such tool. Empty where it is the list that is asked for. */
  readonly name: string
}

export type ToolMapping = Mapping<GatedCall>
export type MappedMembers = Members<GatedCall>
export type AgentId = AgentIdOfCall<GatedCall>
