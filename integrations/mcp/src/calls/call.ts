/** What a mapping can read of a call, and the types of mappings. */
import type { ToolMapping as Mapping, MappedMembers as Members, ToolGuardOptions } from '@countersign/client/kernel'

/** The caller that the transport has authenticated: `authInfo` of both SDKs. */
export interface AuthInfo {
  readonly clientId?: string | undefined
  readonly scopes?: readonly string[] | undefined
  readonly extra?: Readonly<Record<string, unknown>> | undefined
}

export interface Caller {
  /** Undefined if the transport does not authenticate callers, as over stdio. */
  readonly authInfo: AuthInfo | undefined
  readonly sessionId: string | undefined
  /** `_meta` of the request. The caller writes it, so an agent may control it. */
  readonly meta: Readonly<Record<string, unknown>>
}

/** A `tools/call`, or any other message that needs a decision, without its arguments. */
export interface GatedCall extends Caller {
  /** The method of the message: `tools/call` for a tool. */
  readonly method: string
  /**
   * The name as the caller wrote it: a tool or a prompt, which may not exist, the URI of a resource, or the method itself. Empty for
   * lists.
   */
  readonly name: string
  /** For `completion/complete`: whether `name` is a prompt or a URI template. */
  readonly ref?: 'ref/prompt' | 'ref/resource' | undefined
  /** In the proxy: the arguments with the digits of the client, if it wrote a number differently from JavaScript, such as `1.0`. */
  readonly written?: unknown
}

export type ToolMapping = Mapping<GatedCall>
export type MappedMembers = Members<GatedCall>
export type AgentId = NonNullable<ToolGuardOptions<GatedCall, never>['agentId']>
