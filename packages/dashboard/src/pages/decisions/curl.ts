import type { DecisionDetail } from '@countersign/contract'
import { shellWord } from '../../components/shell-word'

type Asked = Pick<DecisionDetail, 'agent_id' | 'action' | 'resource' | 'context'>

/**
 * Returns a command for a POSIX shell that repeats the request. It takes the key from the environment.
 *
 * @param origin the server's origin
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

/** Writes JSON with escapes for characters that are invisible, or that a terminal could interpret. */
function visibleJson(value: unknown): string {
  return JSON.stringify(value).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}
