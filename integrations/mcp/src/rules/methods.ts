/**
 * How a gate treats each method of the protocol. Source: docs/mcp-methods.md "What is asked about". A test compares both with the
 * SDKs.
 */

export const TOOL_CALL = 'tools/call'
/** Of 2026-07-28. One of its uses is to subscribe to resources by URI. */
export const LISTEN = 'subscriptions/listen'

/** Requests of a client that need a decision, with their actions. A request that is in no table needs a decision too. */
export const ASKED_REQUESTS: ReadonlyMap<string, string> = new Map([
  ['resources/read', 'mcp.resources.read'],
  ['resources/subscribe', 'mcp.resources.subscribe'],
  [LISTEN, 'mcp.resources.subscribe'],
  ['prompts/get', 'mcp.prompts.get'],
  ['completion/complete', 'mcp.completion'],
])

/** Requests of a client that pass: they introduce the client, list what is there, or end something. */
export const PASSING_REQUESTS: ReadonlySet<string> = new Set([
  'initialize',
  'server/discover',
  'ping',
  'logging/setLevel',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'prompts/list',
  'resources/unsubscribe',
])

/** Requests about one task. They pass for the client whose permitted call started the task. */
export const TASK_REQUESTS: ReadonlySet<string> = new Set(['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/update'])
/** Passes, and shows a client its own tasks. */
export const TASK_LIST = 'tasks/list'

/** Notifications of a client that pass. Any other notification needs a decision. */
export const PASSING_NOTIFICATIONS: ReadonlySet<string> = new Set([
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'notifications/roots/list_changed',
  'notifications/tasks/status',
])

/** Requests of a server that always pass: about the connection, and about tasks that its other requests started. */
export const PASSING_SERVER_REQUESTS: ReadonlySet<string> = new Set([
  'ping',
  'tasks/get',
  'tasks/result',
  'tasks/list',
  'tasks/cancel',
])
/**
 * Requests of a server that pass unless the option `pass` leaves them out. The same holds for methods that the protocol does not
 * know.
 */
export const SERVER_REQUESTS: ReadonlySet<string> = new Set([
  'sampling/createMessage',
  'elicitation/create',
  'roots/list',
])

/** Requests to which a server may answer by asking the client first (2026-07-28). */
export const MAY_REQUIRE_INPUT: ReadonlySet<string> = new Set([TOOL_CALL, 'resources/read', 'prompts/get'])

/** All requests of a client that the protocol defines. */
export const CLIENT_REQUESTS: ReadonlySet<string> = new Set([
  ...[TOOL_CALL, TASK_LIST, ...TASK_REQUESTS],
  ...[...ASKED_REQUESTS.keys(), ...PASSING_REQUESTS],
])

const KNOWN_METHODS = new Set([...CLIENT_REQUESTS, ...PASSING_NOTIFICATIONS, ...SERVER_REQUESTS])
const FOLDED = new Set([...KNOWN_METHODS].map(folded))

/** Whether a program could read the method as another one of the protocol, such as `Tools/Call`. */
export function isLookAlike(method: string): boolean {
  return !KNOWN_METHODS.has(method) && FOLDED.has(folded(method).replaceAll(/[\p{C}\p{Z}]/gu, ''))
}

/** Removes differences that programs may ignore: case, equivalent characters, and everything after a NUL. */
export function folded(name: string): string {
  // Most names are in ASCII, which is already in this form.
  if (/^[\x20-\x7e]*$/.test(name)) return name.toLowerCase()
  const [seen = ''] = name.split('\0')
  return seen.normalize('NFKC').toLowerCase()
}
