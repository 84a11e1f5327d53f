import type { DecisionDetail } from '@countersign/contract'
import { shellWord } from '../../components/shell-word'

type Asked = Pick<DecisionDetail, 'agent_id' | 'action' | 'resource' | 'context'>

/**
 * A command that asks the same again, for a POSIX shell. The key comes from the environment of whoever runs it.
 *
 * @param origin of the server
 */
export function curlOf({ agent_id, action, resource, context }: Asked, origin: string): string {
  const request = {
    agent_id,
    action,
    ...(resource !== null && { resource }),
    ...(context !== null && { context }),
  }
  return [
    `curl -X POST ${shellWord(`${origin}/v1/decisions`)}`,
    `  -H "Authorization: Bearer $COUNTERSIGN_API_KEY"`,
    `  -H 'Content-Type: application/json'`,
    `  --data-raw ${shellWord(visibleJson(request))}`,
  ].join(' \\\n')
}

/** What a person cannot see, and what a terminal might act upon, as the escapes of JSON. */
function visibleJson(value: unknown): string {
  return JSON.stringify(value).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}
