import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { assertAgentId, ConfigError, configText, type ProxyConfig, parseConfig, readConfig } from './config.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-mcp-'))
})
afterAll(() => rm(folder, { recursive: true }))

const whole: ProxyConfig = {
  agent_id: 'agent:desk',
  unmapped: 'deny',
  list: 'hide',
  review: 'pending',
  mode: 'enforce',
  tools: {
    'read file': {
      action: 'file.read',
      resource: 'file:{path}',
      context: ['head'],
      definition: `sha256-${'0'.repeat(64)}`,
    },
    write: { action: 'file.write', resource: null, context: 'arguments' },
  },
  clients: [{ agent_id: 'agent:a', token_sha256: 'a'.repeat(64) }],
}

function clientsText(...hashes: readonly string[]): string {
  const clients = hashes.map((token_sha256, index) => ({ agent_id: `agent:${index}`, token_sha256 }))
  return JSON.stringify({ tools: {}, clients })
}

function problemsOf(text: string): readonly string[] {
  try {
    parseConfig(text, 'gate.json')
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    expect(error.message).toContain('gate.json')
    return error.problems
  }
}

test('what is written reads back, also with a byte order mark', () => {
  expect(parseConfig(configText(whole), 'gate.json')).toEqual(whole)
  expect(parseConfig(`\uFEFF${configText(whole)}`, 'gate.json')).toEqual(whole)
  expect(parseConfig('{"tools":{}}', 'gate.json')).toEqual({ tools: {} })
})

test.each<[string, string]>([
  ['', 'the file is not valid JSON'],
  ['{"tools":{}', 'the file is not valid JSON'],
  ['[]', 'expected object'],
  ['{}', 'tools: '],
  ['{"tools":{},"api_key":"cs_sk_1"}', '"api_key"'],
  ['{"tools":{},"agent_id":"-"}', 'agent_id: must start'],
  ['{"tools":{},"review":"elicit"}', 'review: '],
  ['{"tools":{},"clients":[]}', 'clients: '],
  ['{"tools":{},"clients":[{"agent_id":"a","token_sha256":"secret"}]}', 'clients[0].token_sha256: must be'],
  [clientsText('a'.repeat(64), 'b'.repeat(64), 'a'.repeat(64)), 'clients[2].token_sha256: is that of clients[0] too'],
  [
    clientsText(createHash('sha256').update('').digest('hex')),
    'clients[0].token_sha256: is the hash of an empty token',
  ],
  ['{"tools":{},"agent_id":"undefined"}', 'agent_id: looks like a value that was missing'],
  ['{"tools":{},"agent_id":"user:null"}', 'agent_id: looks like a value that was missing'],
  [
    '{"tools":{"read":{"action":"file.read"}}}',
    'tools["read"].resource: is required. It must be <type>:<id>, such as file:{path}, or null for none',
  ],
  ['{"tools":{"read":{"action":"file.read","resource":1}}}', 'tools["read"].resource: must be <type>'],
  [
    '{"tools":{"pay":{"action":"a","resource":null},"p\\u0061y":{"action":"b","resource":null}}}',
    'tools["pay"]: is given',
  ],
  ['{"tools":{"a":{"action":"\\"{","resource":null,"action":"b"}}}', 'tools["a"].action: is given twice'],
  ['{"clients":[{},[],{"agent_id":"a","agent_id":"b"}]}', 'clients[2].agent_id: is given twice'],
  ['\uFEFF{"mode":"enforce","tools":{},"mode":"observe"}', 'mode: is given twice'],
  ['{"tools":{"read":{"action":"file..read","resource":null}}}', 'tools["read"].action: must be words'],
  ['{"tools":{"read":{"action":"file.read","resource":"{kind}:{id}"}}}', 'tools["read"].resource: must be <type>'],
  ['{"tools":{"read":{"action":"file.read","resource":"file:{a}{b}"}}}', 'text between {a} and {b}'],
  ['{"tools":{"read":{"action":"file.read","resource":null,"context":"all"}}}', 'tools["read"].context: must be'],
  ['{"tools":{"read":{"action":"file.read","resource":null,"definition":"md5-1"}}}', 'tools["read"].definition: must'],
  ['{"tools":{"read":{"action":"file.read","resource":null,"resources":1}}}', 'tools["read"]: '],
])('%s is told with its place', (text, words) => {
  expect(problemsOf(text).join('\n')).toContain(words)
})

test('the same name in two places is none given twice', () => {
  const tool = { action: 'a', resource: null, context: ['action', 'action', 'a', ':'] }
  expect(problemsOf(JSON.stringify({ tools: { action: tool, tools: tool } }))).toEqual([])
})

test.each(['undefined', 'user:null', '-', ''])('the agent %j is refused', (agent) => {
  expect(() => assertAgentId(agent)).toThrow(ConfigError)
})

test('every place is told', () => {
  const text = '{"tools":{"a":{"action":"","resource":null},"b":{"action":"","resource":null}},"mode":"off"}'
  expect(problemsOf(text)).toHaveLength(3)
})

test('a file that is not there, and one that is none', async () => {
  const absent = readConfig(join(folder, 'gate.json'))
  await expect(absent).rejects.toThrow(
    /gate\.json cannot be used:\n {2}- the file does not exist: .* init --agent <id> -- <command>/,
  )
  await expect(readConfig(folder)).rejects.toThrow('the file cannot be read (EISDIR)')
  await writeFile(join(folder, 'here.json'), configText(whole))
  await expect(readConfig(join(folder, 'here.json'))).resolves.toEqual(whole)
})
