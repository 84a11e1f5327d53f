import { execFileSync } from 'node:child_process'
import type { JsonObject } from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import { curlOf } from './curl.js'

/** What bash gives to curl. */
function argumentsOf(command: string): string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\n${command}`
  const env = { COUNTERSIGN_API_KEY: 'cs_sk_secret', PATH: '/usr/bin:/bin' }
  return execFileSync('bash', ['--norc', '-c', script], { env, encoding: 'utf8' }).split('\0').slice(0, -1)
}

const ORIGIN = 'http://127.0.0.1:8787'
const asked = (context: JsonObject | null, resource: string | null = 'order:1') => ({
  agent_id: 'agent:a',
  action: 'payment.refund',
  resource,
  context,
})

const HOSTILE = [
  `'; touch /tmp/owned; '`,
  '$(touch /tmp/owned) `id` $HOME $COUNTERSIGN_API_KEY',
  `'"'"'\\'`,
  '!! !$ \\n \\\\ % @file * ? ~ # & | < > ( ) { }',
  'line\nbreak\r\ttab\u0000nul\u001b[2Jescape\u0007',
  '\u202egnirts\u2066 \u200b\u2028\u2029 \u00ad\ufeff \u{e0041}',
  'Zoë 退款 😀',
  '-o /etc/passwd --next',
]

describe('copy as curl', () => {
  it('asks the same of this server, with the key of the environment', () => {
    const [method, post, url, , authorization, , type, data, body, ...more] = argumentsOf(
      curlOf(asked({ amount: 42.5 }), ORIGIN),
    )
    expect([method, post, url]).toEqual(['-X', 'POST', `${ORIGIN}/v1/decisions`])
    expect([authorization, type]).toEqual(['Authorization: Bearer cs_sk_secret', 'Content-Type: application/json'])
    expect(data).toBe('--data-raw')
    expect(JSON.parse(body as string)).toEqual(asked({ amount: 42.5 }))
    expect(more).toEqual([])
  })

  it('leaves out what was not given', () => {
    const body = argumentsOf(curlOf(asked(null, null), ORIGIN)).at(-1) as string
    expect(JSON.parse(body)).toEqual({ agent_id: 'agent:a', action: 'payment.refund' })
  })

  it.each(HOSTILE)('is one command whatever the text: %j', (text) => {
    const request = asked({ note: text, [`key ${text.replaceAll('.', '')}`]: [text] }, `order:${text}`)
    const command = curlOf(request, ORIGIN)
    const given = argumentsOf(command)
    expect(given).toHaveLength(9)
    expect(JSON.parse(given.at(-1) as string)).toEqual(request)
    expect(command.replaceAll('\n', '')).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
  })
})
