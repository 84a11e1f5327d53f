import { prettyJson } from '../../components/json/pretty-json'
import { shellWord } from '../../components/shell-word'
import type { Operation } from './openapi'

/** Returns the call as a shell command. It takes the key from the environment. */
export function curlOf({ method, path, body }: Operation, origin: string, example: unknown): string {
  const call = method === 'GET' || (method === 'POST' && body !== null) ? '' : ` -X ${method}`
  const stream = path === '/v1/events' ? 'N' : ''
  return [
    `curl -s${stream}${call} ${shellWord(`${origin}${path}`)}`,
    `  -H "Authorization: Bearer $COUNTERSIGN_API_KEY"`,
    ...(body === null ? [] : ['  -H "Content-Type: application/json"', `  -d ${shellWord(prettyJson(example))}`]),
  ].join(' \\\n')
}
