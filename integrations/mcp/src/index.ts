/** Authorization for the tools of MCP servers. Source: docs/mcp.md. */
export type { MappedCall, ToolArguments } from '@countersign/client/kernel'
export { type GateableServer, gate } from './gate.js'
export type { GateOptions } from './gate-options.js'
export { type GateableTransport, gateTransport } from './gate-transport.js'
export type { AgentId, AuthInfo, GatedCall, MappedMembers, ToolMapping } from './gated-call.js'
export { currentRun } from './gated-tool-call.js'
export { definitionHash } from './tool-definitions.js'
export type { ShownDecisionOfCall } from './tool-result.js'
