/** docs/mcp-methods.md and the gate name all methods of the protocol, as the schemas of both SDKs have them. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import * as v1 from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, it } from 'vitest'
import {
  ASKED_REQUESTS,
  PASSING_NOTIFICATIONS,
  PASSING_REQUESTS,
  PASSING_SERVER_REQUESTS,
  SERVER_REQUESTS,
  TASK_LIST,
  TASK_REQUESTS,
  TOOL_CALL,
} from '../src/rules/methods.js'

const server = createRequire(import.meta.url).resolve('@modelcontextprotocol/server')
const v2 = createRequire(server)('@modelcontextprotocol/core')
/** Of the extension for tasks, which no SDK has a schema of. */
const OF_EXTENSIONS = ['tasks/update']

type Union = 'ClientRequest' | 'ClientNotification' | 'ServerRequest' | 'ServerNotification'

/** The methods of one side in both SDKs. */
function methodsOf(union: Union): Set<string> {
  const methods = [v1, v2].flatMap((sdk) =>
    Object(sdk)[`${union}Schema`].options.map(
      (one: { shape: { method: { value: string } } }) => one.shape.method.value,
    ),
  )
  return new Set(methods)
}

const text = readFileSync(new URL('../../../docs/mcp-methods.md', import.meta.url), 'utf8')
const [, section = ''] = text.split('## What is asked about\n')
const rows = section
  .split('\n')
  .filter((line) => /^\| (client|server)/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, from = '', methods = '', what = '']) => ({
    from,
    methods: [...methods.matchAll(/`([^`]+)`/g)].map(([, method]) => method),
    what,
  }))
const documented = (from: string, what = '') =>
  new Set(rows.filter((row) => row.from === from && row.what.startsWith(what)).flatMap(({ methods }) => methods))

describe('docs/mcp-methods.md', () => {
  it('lists each method of the protocol', () => {
    expect(documented('client')).toEqual(new Set([...methodsOf('ClientRequest'), ...OF_EXTENSIONS]))
    expect(documented('client, as notifications')).toEqual(methodsOf('ClientNotification'))
    expect(documented('server')).toEqual(methodsOf('ServerRequest'))
    expect(documented('server, as notifications')).toEqual(methodsOf('ServerNotification'))
  })

  it('says of each what the gate does', () => {
    expect(documented('client', 'asks')).toEqual(new Set([TOOL_CALL, ...ASKED_REQUESTS.keys()]))
    expect(documented('client', '**passes')).toEqual(PASSING_REQUESTS)
    expect(documented('client', 'passes them')).toEqual(TASK_REQUESTS)
    expect(documented('client', 'passes it')).toEqual(new Set([TASK_LIST]))
    expect(documented('client, as notifications')).toEqual(PASSING_NOTIFICATIONS)
    expect(documented('server', '**passes them without a decision**, unless')).toEqual(SERVER_REQUESTS)
    expect(documented('server', '**passes them without a decision**: ')).toEqual(PASSING_SERVER_REQUESTS)
  })
})

it('no request of a client that the gate passes acts, and each that it knows is in one table alone', () => {
  const tables = [[TOOL_CALL, TASK_LIST], ASKED_REQUESTS.keys(), PASSING_REQUESTS, TASK_REQUESTS].map((one) => [...one])
  expect(tables.flat().toSorted()).toEqual([...methodsOf('ClientRequest'), ...OF_EXTENSIONS].toSorted())
})
