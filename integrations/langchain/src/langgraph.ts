/** For graphs of LangGraph without `createAgent`; needs `@langchain/langgraph`. Source: docs/langchain.md. */
export { type GuardedToolNodeOptions, guardedToolNode } from './guarded-tool-node.js'
