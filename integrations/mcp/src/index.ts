/** Authorization for the tools of MCP servers. Source: docs/mcp.md. */
export type { MappedCall, ToolArguments } from '@countersign/client/kernel'
export { currentRun } from '@countersign/client/kernel'
export type { AgentId, AuthInfo, GatedCall, MappedMembers, ToolMapping } from './calls/call.js'
export type { ShownDecisionOfCall } from './calls/result.js'
export type { GateOptions } from './gate-options.js'
export { definitionHash } from './lists/tool-definitions.js'
export { type GateableTransport, gateTransport } from './messages/gate-transport.js'
export { type GateableServer, gate } from './server/gate.js'
